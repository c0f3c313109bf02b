from dataclasses import replace
from datetime import timedelta
from hashlib import blake2b
from itertools import permutations

import polars as pl
import pytest

from tests import frames
from tests.builders import START, tool, turn
from turnetl.base import schema
from turnetl.base.model import GroupId, Turn
from turnetl.episodes import Filters, chunking
from turnetl.episodes.filters import ALL_GROUPS, CONVERSATIONAL, ERROR_HEAVY, KINDS


def built(*turns: Turn) -> pl.DataFrame:
    return frames.episode_table(frames.turns(*turns))


def at(minute: int, name: str, **fields: object) -> Turn:
    return turn(name, started_at=START + timedelta(minutes=minute), **fields)


def test_the_table_has_the_columns_of_the_schema() -> None:
    assert built(turn()).schema == schema.EPISODES.polars
    assert built().schema == schema.EPISODES.polars


def test_the_most_complete_of_several_copies_is_kept() -> None:
    truncated = turn(archive="a.jsonl", chars=10, assistant_text="The cart", closed=False)
    whole = turn(archive="b.jsonl", chars=96)
    again = turn(archive="c.jsonl", chars=96)
    table = built(truncated, again, whole)
    assert table["archive"].to_list() == ["b.jsonl"]
    assert table["copies"].to_list() == [2]
    assert table["noise"].to_list() == [None]


def test_of_two_copies_of_equal_length_the_closed_one_is_kept() -> None:
    still_open = turn(archive="a.jsonl", closed=False, closed_by=None)
    assert built(still_open, turn(archive="b.jsonl"))["closed"].to_list() == [True]


def test_of_two_continuations_of_a_turn_the_content_decides_and_the_other_is_counted() -> None:
    left, right = (
        turn(assistant_text=text, content_hash=digest, chars=50)
        for text, digest in (("To the left.", "a"), ("To the right.", "b"))
    )
    for names in (("a.jsonl", "b.jsonl"), ("b.jsonl", "a.jsonl")):
        copies = [
            replace(one, archive=name) for one, name in zip((left, right), names, strict=True)
        ]
        for order in permutations(copies):
            table = built(*order)
            assert table["assistant_text"].to_list() == ["To the left."]
            assert table["copies"].to_list() == [1]


def test_episodes_are_ordered_by_time_session_and_ordinal() -> None:
    turns = [
        at(5, "p3", session_id="s1", ordinal=1),
        at(0, "p2", session_id="s2", ordinal=1),
        at(0, "p1", session_id="s2", ordinal=0),
        at(0, "p0", session_id="s1", ordinal=0),
    ]
    assert built(*turns)["prompt_id"].to_list() == ["p0", "p1", "p2", "p3"]


def test_ordinals_continue_through_a_session_in_several_archives() -> None:
    first = [at(n, f"p{n}", archive="a.jsonl", ordinal=n) for n in range(2)]
    second = [at(n, f"p{n}", archive="b.jsonl", ordinal=n - 2) for n in range(2, 5)]
    assert built(*second, *first)["ordinal"].to_list() == [0, 1, 2, 3, 4]


def test_turns_without_a_time_come_last_in_the_order_of_their_archive() -> None:
    timeless = [turn(f"p{n}", started_at=None, ordinal=n, session_id="s0") for n in range(2)]
    table = built(*reversed(timeless), at(1, "p2"))
    assert table["prompt_id"].to_list() == ["p2", "p0", "p1"]


@pytest.mark.full
def test_the_rows_do_not_depend_on_the_order_of_the_archives() -> None:
    turns = [
        at(0, "p0", archive="a.jsonl", tool_calls=(tool("Bash", "ls"), tool("Bash", "pytest"))),
        at(0, "p0", archive="b.jsonl", tool_calls=(tool("Bash", "ls"), tool("Bash", "pytest"))),
        at(1, "p1", archive="a.jsonl", user_text="ok", assistant_text="Good."),
        at(1, "p2", archive="c.jsonl", session_id="s2", user_text="ok", assistant_text="Good."),
    ]
    first = built(*turns)
    for other in permutations(turns):
        assert built(*other).equals(first)


def test_noise_is_marked_and_stays_in_the_table() -> None:
    table = built(at(0, "p0"), at(1, "p1", user_text="thanks!", assistant_text="Sure."))
    assert table["noise"].to_list() == [None, "acknowledgement"]
    assert table["text"][1] == "user: thanks!\n\nassistant: Sure."


def test_a_turn_with_an_empty_text_is_marked_as_noise() -> None:
    listed = (tool("TodoWrite", "[]", "ok"),)
    blank = at(0, "p0", user_text="", assistant_text="", tool_calls=listed)
    assert built(blank).select("noise", "text").rows() == [("empty", "")]
    table = built(at(0, "p0", user_text="ok", assistant_text=""), at(1, "p1"))
    assert "empty" not in table["noise"].to_list()


def test_lengths_are_those_of_the_turn_and_of_the_text() -> None:
    row = built(replace(turn(), chars=5000)).row(0, named=True)
    assert row["chars_before"] == 5000
    assert row["chars_after"] == len(row["text"])
    assert row["tokens"] == pl.select(chunking.estimate_expr(pl.lit(row["text"]))).item()


def test_a_text_that_is_one_chunk_is_stored_once_and_its_digest_is_that_of_the_text() -> None:
    row = built(turn()).row(0, named=True)
    assert row["chunks"] == []
    assert row["text_hash"] == blake2b(row["text"].encode(), digest_size=16).hexdigest()


def test_the_patterns_for_its_group_and_kind_apply_to_a_text() -> None:
    failed = tool("Bash", "make", "exit 2", is_error=True)
    turns = [
        at(number, name, assistant_text="Loud. Soft.", tool_calls=(failed,) * (name == "failed"))
        for number, name in enumerate(("first", "failed", "last"))
    ]
    special = {
        (ALL_GROUPS, ERROR_HEAVY): ("Loud. ",),
        (GroupId("other"), CONVERSATIONAL): ("Loud. Soft.",),
    }
    filters = Filters(rules=(), patterns=(" Soft.",), overrides=special)
    texts = frames.episode_table(frames.turns(*turns), filters)["text"].to_list()
    answers = [text.split("assistant: ")[1].split("\n")[0] for text in texts]
    assert answers == ["Loud.", "Soft.", "Loud."]


def test_patterns_for_a_group_change_the_recipe_of_that_group_only() -> None:
    plain = Filters(patterns=("x",))
    special = {(GroupId("shop"), kind): ("y",) for kind in KINDS}
    changed = replace(plain, overrides=special)
    assert list(changed.recipe(GroupId("bank"))) == list(plain.recipe(GroupId("bank")))
    assert list(changed.recipe(GroupId("shop"))) != list(plain.recipe(GroupId("shop")))
