"""What hooks of turnetl put into a session is no text of a user, and is counted under a reason."""

import json

import pytest

from tests.cli.archives import conversation, row
from turnetl import formats
from turnetl.base.reason import SkipReason
from turnetl.base.text import without_injected

CLAUDE = next(one for one in formats.FORMATS if one.name == "claude_code")
INJECTED = (
    "<turnetl-history-0123456789abcdef>\nFrom the user's past sessions.\nDecided:\n"
    "- use postgres (turn 1)\n"
    "</turnetl-history-0123456789abcdef>"
)

QUESTION = "Why does <turnetl-history-0123456789abcdef> appear? We decided to pin numpy"


def test_a_row_that_a_hook_wrote_has_its_own_reason() -> None:
    attachment = {"type": "hook_additional_context", "content": [INJECTED]}
    rows = [
        json.dumps(
            {"type": "attachment", "sessionId": "s1", "uuid": "h", "attachment": attachment}
        ),
        *conversation("Add a cart"),
    ]
    parsed = CLAUDE.read("\n".join(rows).encode())
    assert [turn.user_text for turn in parsed.turns] == ["Add a cart"]
    assert parsed.counts.skipped[SkipReason.INJECTED] == 1


def test_a_row_with_the_mark_that_cannot_be_read_is_not_of_a_hook() -> None:
    rows = [*conversation("Add a cart"), row("user", QUESTION, "u")]
    damaged = CLAUDE.read("\n".join(rows)[:-9].encode()).counts
    assert damaged.skipped == {SkipReason.INVALID_JSON: 1}
    array = ",\n".join([*rows[:-1], json.dumps(QUESTION)])
    assert CLAUDE.read(f"[{array}]".encode()).counts.skipped == {SkipReason.NOT_AN_OBJECT: 1}


def test_thousands_of_marks_and_spaces_are_read_in_linear_time() -> None:
    text = "<turnetl-history-0123456789abcdef>" * 20_000 + " " * 1_000_000 + "end"
    assert without_injected(text) == text


def test_a_prompt_keeps_only_what_the_user_wrote() -> None:
    parsed = CLAUDE.read(row("user", f"{INJECTED}\nAdd a cart", "u").encode())
    assert [turn.user_text for turn in parsed.turns] == ["Add a cart"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"a {INJECTED} b", "a\nb"),
        (INJECTED, ""),
        (INJECTED[:90], ""),
        (f"a {INJECTED[:90]}", "a"),
        (f"{QUESTION} {INJECTED} b", f"{QUESTION}\nb"),
        (QUESTION, QUESTION),
        ("the tag <turnetl-history-x> is ours", "the tag <turnetl-history-x> is ours"),
    ],
)
def test_an_element_is_cut_out_also_if_it_is_not_closed(text: str, kept: str) -> None:
    assert without_injected(text) == kept
