"""The output of `git blame`, and the edits that a commit may contain."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import builders
from tests.builders import START
from turnetl.base.model import ArchivedEdit, NotRead
from turnetl.episode_text.conversation import ConversationStep
from turnetl.retrieval.turn_summary import TurnSummary
from turnetl.retrieval.why import (
    BlamedLine,
    FileEdit,
    adds_line,
    edits_within,
    file_edits,
    is_distinctive,
    parse_blame,
    read_edits,
)

FIRST, SECOND = "a" * 40, "0" * 40
OUTPUT = (
    f"{FIRST} 1 1 1\nauthor a\nauthor-time 1772533200\nsummary Cart\nprevious {'b' * 40} cart.py\n"
    f"filename src/cart.py\n\tclass Cart:\n{SECOND} 2 2 1\nauthor-time 1772540000\nsummary x\n"
    f"filename src/cart.py\n\t{FIRST} 9 9\n{FIRST} 2 3 1\n\t    pass\x0b\u2028end\n"
)
TURN = TurnSummary(
    "id", "edit", "Edit", "Done", (), builders.receipt(builders.episode(cwd="/home/dev/shop"))
)


def step(text: str, *, is_error: bool = False, minute: int | None = 1) -> ConversationStep:
    at = None if minute is None else START + timedelta(minutes=minute)
    return ConversationStep("Edit", text, "", is_error, at)


def edits(*steps: ConversationStep, path: str = "src/cart.py") -> list[FileEdit]:
    return file_edits(TURN, steps, path, START, NotRead.MISSING)


def test_the_lines_of_a_commit_are_gathered() -> None:
    cart, uncommitted = parse_blame(OUTPUT)
    assert (cart.commit, cart.summary, cart.path) == (FIRST, "Cart", "src/cart.py")
    assert cart.authored_at == datetime(2026, 3, 3, 10, 20, tzinfo=UTC)
    assert cart.previous == "b" * 40
    assert cart.lines == (BlamedLine(1, "class Cart:"), BlamedLine(3, "    pass\x0b\u2028end"))
    assert (cart.is_committed, uncommitted.is_committed) == (True, False)


def test_a_line_that_looks_like_a_header_is_a_line() -> None:
    assert parse_blame(OUTPUT)[1].lines == (BlamedLine(2, f"{FIRST} 9 9"),)


@given(st.text())
def test_no_text_of_a_line_changes_what_is_read(text: str) -> None:
    line = text.replace("\n", "").replace("\r", "")
    (commit,) = parse_blame(f"{FIRST} 1 1 1\nauthor-time 1\nfilename a\n\t{line}\n")
    assert commit.lines == (BlamedLine(1, line),)


@pytest.mark.parametrize(
    "edited",
    [
        "src/cart.py :: + total",
        "/home/dev/shop/src/cart.py :: - sum + total",
        "/home/dev/shop/.trees/fix/src/cart.py :: + total",
        "../shop/src/cart.py :: + total",
        "*** Begin Patch *** Update File: b.py - x *** Update File: src/cart.py - sum + total",
    ],
)
def test_an_edit_of_the_file_is_found_however_its_path_is_written(edited: str) -> None:
    (edit,) = edits(step(edited))
    assert edit.at == START + timedelta(minutes=1)
    assert "total" in edit.excerpt
    assert not adds_line(edit, "total", "total")


@pytest.mark.parametrize("other", ["src/cart.py", "cart.py :: + a", "lib/cart.py :: + a", "ls"])
def test_a_read_and_another_file_are_no_edit_of_it(other: str) -> None:
    assert edits(step(other)) == []


def test_a_failed_edit_changed_nothing() -> None:
    assert edits(step("src/cart.py :: + a", is_error=True)) == []


def test_an_edit_without_a_time_has_that_of_the_fact() -> None:
    assert edits(step("src/cart.py :: + a", minute=None))[0].at == START


def test_a_commit_contains_the_edits_after_the_previous_one() -> None:
    made = edits(*(step(f"src/cart.py :: + {n}", minute=n) for n in (3, 1, 2)))
    start, end = START + timedelta(minutes=1), START + timedelta(minutes=2)
    assert [edit.excerpt for edit in edits_within(made, start, end)] == ["2"]
    assert [edit.excerpt for edit in edits_within(made, None, end)] == ["1", "2"]


def test_a_removed_line_is_not_one_that_an_excerpt_shows() -> None:
    (edit,) = edits(step('src/cart.py :: - book["price"] + book["price_cents"]'))
    added, removed = '   book["price_cents"]', 'book["price"]'
    assert adds_line(edit, added, added)
    assert not adds_line(edit, removed, removed)


def test_an_excerpt_is_compared_with_the_line_without_secrets() -> None:
    (edit,) = edits(step("src/cart.py :: + key = [REDACTED:a:1]"))
    assert adds_line(edit, "key = secret", "key = [REDACTED:a:1]")
    assert not adds_line(edit, "key = secret", "key = [REDACTED:a:2]")


def test_an_edit_that_was_read_added_whole_lines_only() -> None:
    archived = [
        ArchivedEdit("../shop/src/cart.py", ("total = sum(prices)", "}"), None),
        ArchivedEdit("lib/cart.py", ("other = 1",), START),
    ]
    (edit,) = read_edits(TURN, archived, "src/cart.py", START)
    assert edit.at == START
    assert adds_line(edit, "    total  = sum(prices)", "")
    assert adds_line(edit, "}", "")
    assert not adds_line(edit, "total = sum(", "")
    assert (is_distinctive("  total = 1"), is_distinctive("      }")) == (True, False)
