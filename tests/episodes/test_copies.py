"""A turn that lies in several archives, sessions or formats is one episode of one session."""

from dataclasses import replace
from datetime import timedelta
from itertools import permutations

import polars as pl

from tests import frames
from tests.builders import START, turn
from turnetl import ids, schema
from turnetl.episodes import episode_table
from turnetl.model import ClosedBy, SessionId, Turn, TurnId


def made(*turns: Turn) -> pl.DataFrame:
    """The episodes, the same in each of a dozen orders in which the archives are read."""
    first = episode_table(frames.turns(*turns))
    orders = list(permutations(turns))
    for other in orders[:: -(-len(orders) // 12)]:
        assert episode_table(frames.turns(*other)).equals(first)
    assert first.schema == schema.EPISODES.polars
    return first


def said(native: str, minute: int, session: str, **fields: object) -> Turn:
    """A turn whose words are its own, in the archive of its session."""
    return turn(
        native,
        **{
            "session_id": SessionId(session),
            "started_at": START + timedelta(minutes=minute),
            "user_text": f"prompt {minute}",
            "archive": f"{session}.jsonl",
            "ordinal": minute,
        }
        | fields,
    )


def turn_of(format_name: str, of: Turn) -> Turn:
    """The same turn with the id that the format's name gives it."""
    return replace(of, turn_id=ids.turn_id(of.group_id, format_name, of.prompt_id or ""))


def test_a_prompt_that_two_formats_hold_is_one_turn() -> None:
    local = said("p0", 0, "s1", format="claude_code", chars=90)
    export = said("p0", 0, "s1", format="claude_web", archive="export.json", chars=96)
    export = turn_of("claude_web", export)
    table = made(local, export)
    assert table["turn_id"].to_list() == [local.turn_id]
    assert table["archive"].to_list() == ["export.json"]
    assert table["copies"].to_list() == [1]


def test_what_was_typed_while_a_task_ran_stays_a_turn_of_its_own() -> None:
    task = [said("t0", n, "s1", format="codex", turn_id=TurnId(f"codex {n}")) for n in range(2)]
    again = [
        replace(of, format="codex_json", archive="export.json", turn_id=TurnId(f"json {n}"))
        for n, of in enumerate(task)
    ]
    assert made(*task, *again)["turn_id"].to_list() == ["codex 0", "codex 1"]


def test_a_copy_beside_another_session_lends_no_time_but_says_that_the_turn_is_over() -> None:
    original = said("p0", 1, "s1", closed=False, closed_by=None)
    early = START - timedelta(hours=1)
    copied = said("p0", 1, "s1", archive="a.jsonl", first_line=1, started_at=early)
    own = said("f0", 2, "a-fork", archive="a.jsonl", first_line=9)
    table = made(original, copied, own)
    assert table["archive"].to_list() == ["s1.jsonl", "a.jsonl"]
    assert table["started_at"].to_list()[0] == original.started_at
    assert table["closed"].to_list()[0]


def test_prompts_of_one_id_in_two_sessions_of_two_formats_are_two() -> None:
    one = said("1", 0, "s1", format="claude_code")
    other = turn_of("gemini_json", said("1", 0, "s2", format="gemini_json"))
    assert made(one, other).height == 2


def fork(native: str, minute: int, **fields: object) -> Turn:
    return said(native, minute, "a-fork", parent_session_id="s1", **fields)


def test_a_fork_that_wrote_its_parents_history_anew_repeats_no_turn() -> None:
    history = [said(f"p{n}", n, "s1") for n in range(3)]
    replayed = [fork(f"f{n}", n, started_at=START + timedelta(hours=1)) for n in range(2)]
    own = fork("f2", 2, user_text="another way", started_at=START + timedelta(hours=1))
    table = made(*history, *replayed, own)
    assert table["session_id"].to_list() == ["s1", "s1", "s1", "a-fork"]
    assert table["prompt_id"].to_list() == ["p0", "p1", "p2", "f2"]
    assert table["copies"].to_list() == [1, 1, 0, 0]
    assert table["ordinal"].to_list() == [0, 1, 2, 0]
    assert table["parent_session_id"].to_list() == [None, None, None, "s1"]


def test_only_what_a_fork_begins_with_is_its_parents() -> None:
    history = [said(f"p{n}", n, "s1") for n in range(2)]
    own = fork("f0", 0, user_text="another way"), fork("f1", 1)
    assert made(*history, *own).height == 4


def test_a_session_without_a_parent_may_begin_like_another() -> None:
    assert made(said("p0", 0, "s1"), said("q0", 0, "s2")).height == 2


def test_a_fork_of_a_fork_repeats_no_turn() -> None:
    first = said("p0", 0, "s1")
    second = said("f0", 0, "s2", parent_session_id="s1")
    third = said("g0", 0, "s3", parent_session_id="s2")
    table = made(first, second, third)
    assert table["turn_id"].to_list() == [first.turn_id]
    assert table["session_id"].to_list() == ["s1"]


def test_sessions_that_are_each_others_parent_lose_no_turn() -> None:
    one = said("p0", 0, "s1", parent_session_id="s2")
    other = said("q0", 0, "s2", parent_session_id="s1")
    assert made(one, other).height == 2


def test_a_copied_turn_stays_in_the_session_where_it_was_said() -> None:
    original = said("p0", 0, "s1", closed=False, closed_by=None)
    copied = said("p0", 0, "a-fork", parent_session_id="s1")
    own = said("p1", 1, "a-fork", parent_session_id="s1")
    table = made(original, copied, own)
    assert table["session_id"].to_list() == ["s1", "a-fork"]
    assert table["archive"].to_list()[0] == "a-fork.jsonl"
    assert table["closed"].to_list()[0]


def test_without_the_original_a_copy_stays_with_the_fork_nearest_to_it() -> None:
    copied = said("p0", 0, "s3", parent_session_id="s1")
    again = said("p0", 0, "s2", parent_session_id="s3")
    assert made(copied, again)["session_id"].to_list() == ["s3"]


def test_a_snapshot_in_which_the_turn_is_open_or_shorter_loses() -> None:
    early = said("p0", 0, "s1", archive="1.jsonl", chars=10, closed=False, closed_by=None)
    later = said("p0", 0, "s1", archive="2.jsonl", chars=60, closed=False, closed_by=None)
    whole = said("p0", 0, "s1", archive="3.jsonl", chars=60, steering=("and test it",))
    table = made(early, later, whole)
    assert table["archive"].to_list() == ["3.jsonl"]
    assert table["steering"].to_list() == [["and test it"]]
    assert table["copies"].to_list() == [2]


def test_a_turn_is_over_when_its_session_goes_on_in_another_archive() -> None:
    cut = said("p0", 0, "s1", archive="1.jsonl", closed=False, closed_by=None)
    last = said("p1", 1, "s1", archive="2.jsonl", closed=False, closed_by=None)
    elsewhere = said("q0", 2, "s2")
    table = made(cut, last, elsewhere)
    assert table["closed"].to_list() == [True, False, True]
    assert table["closed_by"].to_list() == [ClosedBy.NEXT_PROMPT, None, ClosedBy.NEXT_PROMPT]


def test_why_a_turn_ended_stays_as_its_archive_says() -> None:
    broken = said("p0", 0, "s1", closed_by=ClosedBy.INTERRUPTED)
    assert made(broken, said("p1", 1, "s1"))["closed_by"].to_list()[0] == ClosedBy.INTERRUPTED


def test_agents_side_by_side_stay_apart_and_are_merged_by_time() -> None:
    claude = [said(f"p{n}", n, "s1") for n in (0, 2, 4)]
    codex = [turn_of("codex", said(f"c{n}", n, "s2", format="codex")) for n in (1, 3)]
    table = made(*claude, *codex)
    assert table["session_id"].to_list() == ["s1", "s2", "s1", "s2", "s1"]
    assert table["ordinal"].to_list() == [0, 0, 1, 1, 2]
