"""Turns that a table names: by id, by the beginning of one, by a file and a line."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId, TurnId
from turnetl.evaluation.question_set import LocatedTurn, LocatedTurns

SHOP, OTHER = GroupId("shop"), GroupId("other")
FIRST = LocatedTurn(TurnId("aaaa1111"), SHOP, "/home/dev/.claude/shop/a.jsonl", 1, 4)
SECOND = LocatedTurn(TurnId("aaaa2222"), SHOP, "/home/dev/.claude/shop/a.jsonl", 5, 5)
THIRD = LocatedTurn(TurnId("bbbb3333"), OTHER, "/home/dev/.claude/other/a.jsonl", 1, 9)
COPY = LocatedTurn(TurnId("cccc4444"), OTHER, FIRST.archive, 1, 4)
WINDOWS = LocatedTurn(TurnId("dddd5555"), SHOP, r"C:\chats\shop\b.jsonl", 3, 8)
PLACES = LocatedTurns([FIRST, SECOND, THIRD, WINDOWS])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("aaaa1111", FIRST),
        ("AAAA2", SECOND),
        (" bbbb ", THIRD),
        ("/home/dev/.claude/shop/a.jsonl:1", FIRST),
        ("shop/a.jsonl:4", FIRST),
        ("./shop/a.jsonl:5", SECOND),
        (".claude/other/a.jsonl:9", THIRD),
        ("shop/b.jsonl:3", WINDOWS),
        (r"C:\chats\shop\b.jsonl:8", WINDOWS),
    ],
)
def test_a_turn_is_found(text: str, place: LocatedTurn) -> None:
    assert PLACES.find(text) == place


@pytest.mark.parametrize(
    "text", ["eeee", "shop/a.jsonl:6", "op/a.jsonl:1", "a.jsonl", "shop/a.jsonl:0", ":1"]
)
def test_what_names_no_turn_is_refused(text: str) -> None:
    with pytest.raises(BadUsage, match="no turn has the id or the archive line"):
        PLACES.find(text)


@pytest.mark.parametrize("text", ["aaaa", "a.jsonl:2"])
def test_what_names_several_turns_is_refused_with_two_of_them(text: str) -> None:
    with pytest.raises(BadUsage, match=r"names 2 turns, such as `aaaa1111` \(.*a.jsonl:1\) and"):
        PLACES.find_all(text)


def test_an_archive_that_two_groups_have_names_the_turns_of_both() -> None:
    places = LocatedTurns([FIRST, SECOND, COPY])
    assert places.find_all("shop/a.jsonl:2") == [FIRST, COPY]
    with pytest.raises(BadUsage, match="names 2 turns"):
        places.find("shop/a.jsonl:2")


@given(st.text())
def test_any_text_is_found_or_refused(text: str) -> None:
    with suppress(BadUsage):
        assert PLACES.find(text) in {FIRST, SECOND, THIRD, WINDOWS}
