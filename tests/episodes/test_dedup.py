"""A turn in several archives, sessions or formats becomes one episode of one session."""

from dataclasses import replace
from datetime import timedelta
from itertools import permutations

import polars as pl
import pytest

from tests import frames
from tests.builders import START, turn
from turnetl.base import ids, schema
from turnetl.base.model import ClosedBy, SessionId, Turn, TurnId
from turnetl.episodes.filter_report import group_report


def built(*turns: Turn) -> pl.DataFrame:
    """Return the episodes; they are the same for a dozen orders of the archives."""
    first = frames.episode_table(frames.turns(*turns))
    orders = list(permutations(turns))
    for other in orders[:: -(-len(orders) // 12)]:
        assert frames.episode_table(frames.turns(*other)).equals(first)
    assert first.schema == schema.EPISODES.polars
    return first


def unique_turn(native: str, minute: int, session: str, **fields: object) -> Turn:
    """A turn with a unique prompt, in the archive of its session."""
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


def turn_of(format_name: str, original: Turn) -> Turn:
    """The same turn with the id that the format gives it."""
    return replace(
        original, turn_id=ids.turn_id(original.group_id, format_name, original.prompt_id or "")
    )


def test_a_prompt_in_two_formats_is_one_turn() -> None:
    local = unique_turn("p0", 0, "s1", format="claude_code", chars=90)
    export = unique_turn("p0", 0, "s1", format="claude_web", archive="export.json", chars=96)
    export = turn_of("claude_web", export)
    table = built(local, export)
    assert table["turn_id"].to_list() == [local.turn_id]
    assert table["archive"].to_list() == ["export.json"]
    assert table["copies"].to_list() == [1]


def test_a_turn_with_another_text_in_another_archive_is_a_variant_and_not_a_copy() -> None:
    kept = unique_turn("p0", 0, "s1", assistant_text="On the laptop.", chars=90)
    same = replace(kept, archive="copy.jsonl")
    other = unique_turn(
        "p0", 0, "s1", assistant_text="On the desk.", chars=80, archive="desk.jsonl"
    )
    table = built(kept, same, other)
    assert table.select("assistant_text", "copies", "variants").rows() == [("On the laptop.", 2, 1)]
    report = group_report(kept.group_id, table)
    assert (report.turns, report.copies, report.variants) == (1, 1, 1)


@pytest.mark.full
def test_a_prompt_typed_while_a_task_runs_remains_a_separate_turn() -> None:
    task = [
        unique_turn("t0", n, "s1", format="codex", turn_id=TurnId(f"codex {n}")) for n in range(2)
    ]
    again = [
        replace(turn, format="codex_json", archive="export.json", turn_id=TurnId(f"json {n}"))
        for n, turn in enumerate(task)
    ]
    assert built(*task, *again)["turn_id"].to_list() == ["codex 0", "codex 1"]


def test_a_possible_replay_does_not_change_the_time_but_closes_the_turn() -> None:
    original = unique_turn("p0", 1, "s1", closed=False, closed_by=None)
    early = START - timedelta(hours=1)
    copied = unique_turn("p0", 1, "s1", archive="a.jsonl", first_line=1, started_at=early)
    own = unique_turn("f0", 2, "a-fork", archive="a.jsonl", first_line=9)
    table = built(original, copied, own)
    assert table["archive"].to_list() == ["s1.jsonl", "a.jsonl"]
    assert table["started_at"].to_list()[0] == original.started_at
    assert table["closed"].to_list()[0]


def test_prompts_with_one_id_in_two_sessions_of_two_formats_are_two_turns() -> None:
    one = unique_turn("1", 0, "s1", format="claude_code")
    other = turn_of("gemini_json", unique_turn("1", 0, "s2", format="gemini_json"))
    assert built(one, other).height == 2


def fork(native: str, minute: int, **fields: object) -> Turn:
    return unique_turn(native, minute, "a-fork", parent_session_id="s1", **fields)


@pytest.mark.full
def test_a_fork_that_rewrites_its_parents_history_repeats_no_turn() -> None:
    history = [unique_turn(f"p{n}", n, "s1") for n in range(3)]
    replayed = [fork(f"f{n}", n, started_at=START + timedelta(hours=1)) for n in range(2)]
    own = fork("f2", 2, user_text="another way", started_at=START + timedelta(hours=1))
    table = built(*history, *replayed, own)
    assert table["session_id"].to_list() == ["s1", "s1", "s1", "a-fork"]
    assert table["prompt_id"].to_list() == ["p0", "p1", "p2", "f2"]
    assert table["copies"].to_list() == [1, 1, 0, 0]
    assert table["ordinal"].to_list() == [0, 1, 2, 0]
    assert table["parent_session_id"].to_list() == [None, None, None, "s1"]


@pytest.mark.full
def test_only_the_first_turns_of_a_fork_can_belong_to_its_parent() -> None:
    history = [unique_turn(f"p{n}", n, "s1") for n in range(2)]
    own = fork("f0", 0, user_text="another way"), fork("f1", 1)
    assert built(*history, *own).height == 4


def test_a_session_without_a_parent_may_begin_like_another_session() -> None:
    assert built(unique_turn("p0", 0, "s1"), unique_turn("q0", 0, "s2")).height == 2


def test_a_fork_of_a_fork_repeats_no_turn() -> None:
    first = unique_turn("p0", 0, "s1")
    second = unique_turn("f0", 0, "s2", parent_session_id="s1")
    third = unique_turn("g0", 0, "s3", parent_session_id="s2")
    table = built(first, second, third)
    assert table["turn_id"].to_list() == [first.turn_id]
    assert table["session_id"].to_list() == ["s1"]


def test_sessions_that_are_each_others_parent_lose_no_turn() -> None:
    one = unique_turn("p0", 0, "s1", parent_session_id="s2")
    other = unique_turn("q0", 0, "s2", parent_session_id="s1")
    assert built(one, other).height == 2


def test_a_copied_turn_stays_in_its_original_session() -> None:
    original = unique_turn("p0", 0, "s1", closed=False, closed_by=None)
    copied = unique_turn("p0", 0, "a-fork", parent_session_id="s1")
    own = unique_turn("p1", 1, "a-fork", parent_session_id="s1")
    table = built(original, copied, own)
    assert table["session_id"].to_list() == ["s1", "a-fork"]
    assert table["archive"].to_list()[0] == "a-fork.jsonl"
    assert table["closed"].to_list()[0]


def test_without_the_original_a_copy_belongs_to_the_nearest_fork() -> None:
    copied = unique_turn("p0", 0, "s3", parent_session_id="s1")
    again = unique_turn("p0", 0, "s2", parent_session_id="s3")
    assert built(copied, again)["session_id"].to_list() == ["s3"]


def test_the_longest_closed_snapshot_of_a_turn_is_kept() -> None:
    early = unique_turn("p0", 0, "s1", archive="1.jsonl", chars=10, closed=False, closed_by=None)
    later = unique_turn("p0", 0, "s1", archive="2.jsonl", chars=60, closed=False, closed_by=None)
    whole = unique_turn("p0", 0, "s1", archive="3.jsonl", chars=60, steering=("and test it",))
    table = built(early, later, whole)
    assert table["archive"].to_list() == ["3.jsonl"]
    assert table["steering"].to_list() == [["and test it"]]
    assert table["copies"].to_list() == [2]


@pytest.mark.full
def test_a_turn_is_closed_if_its_session_continues_in_another_archive() -> None:
    cut = unique_turn("p0", 0, "s1", archive="1.jsonl", closed=False, closed_by=None)
    last = unique_turn("p1", 1, "s1", archive="2.jsonl", closed=False, closed_by=None)
    elsewhere = unique_turn("q0", 2, "s2")
    table = built(cut, last, elsewhere)
    assert table["closed"].to_list() == [True, False, True]
    assert table["closed_by"].to_list() == [ClosedBy.NEXT_PROMPT, None, ClosedBy.NEXT_PROMPT]


def test_the_archives_reason_for_the_end_of_a_turn_is_kept() -> None:
    broken = unique_turn("p0", 0, "s1", closed_by=ClosedBy.INTERRUPTED)
    assert (
        built(broken, unique_turn("p1", 1, "s1"))["closed_by"].to_list()[0] == ClosedBy.INTERRUPTED
    )


@pytest.mark.full
def test_sessions_of_concurrent_agents_are_separate_and_merged_by_time() -> None:
    claude = [unique_turn(f"p{n}", n, "s1") for n in (0, 2, 4)]
    codex = [turn_of("codex", unique_turn(f"c{n}", n, "s2", format="codex")) for n in (1, 3)]
    table = built(*claude, *codex)
    assert table["session_id"].to_list() == ["s1", "s2", "s1", "s2", "s1"]
    assert table["ordinal"].to_list() == [0, 0, 1, 1, 2]
