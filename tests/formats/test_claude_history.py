"""Claude Code's history of prompts."""

import json
from pathlib import Path
from typing import Any

import pytest

from turnetl import formats
from turnetl.base.reason import SkipReason
from turnetl.formats.port import ParsedArchive

ARCHIVES = Path(__file__).parents[1] / "archives" / "claude_history"
AT = 1_772_442_000_000
"""2026-03-02 09:00 UTC."""


def read(*rows: dict[str, Any]) -> ParsedArchive:
    data = "".join(f"{json.dumps(one)}\n" for one in rows).encode()
    history = formats.by_name(formats.PROMPT_HISTORY)
    assert history is not None
    return history.read(data)


def row(display: str, at: int = AT, **fields: Any) -> dict[str, Any]:
    base = {"display": display, "pastedContents": {}, "timestamp": at, "project": "/home/dev/shop"}
    return base | {"sessionId": "s1"} | fields


def prompts(name: str) -> list[str]:
    parsed = formats.sniff((ARCHIVES / name).read_bytes())
    assert parsed is not None
    return [turn.user_text for turn in parsed.read((ARCHIVES / name).read_bytes()).turns]


def test_every_prompt_that_called_the_model_is_a_turn_without_a_response() -> None:
    assert prompts("sessions.jsonl") == [
        "Why does the checkout test fail?",
        "/review the cart",
        "Explain this: KeyError: 'cart'\nin shop/cart.py and [Pasted text #2 +9 lines]",
        "Draw the logo\nin two colours",
    ]
    (turn,) = read(row("Add a cart")).turns
    assert turn.assistant_texts == []
    assert turn.tool_calls == []
    assert turn.started_at is not None
    assert turn.started_at.isoformat() == "2026-03-02T09:00:00+00:00"
    assert (turn.session_id, turn.cwd) == ("s1", "/home/dev/shop")


@pytest.mark.parametrize(
    ("display", "reason"),
    [
        ("/clear", SkipReason.LOCAL_COMMAND),
        ("/model opus", SkipReason.LOCAL_COMMAND),
        ("!ls", SkipReason.SHELL_COMMAND),
        ("  ", SkipReason.NO_TEXT),
        ("<task-notification>done", SkipReason.NOTIFICATION),
    ],
)
def test_a_line_that_is_no_prompt_is_counted_under_its_reason(
    display: str, reason: SkipReason
) -> None:
    parsed = read(row(display))
    assert parsed.turns == []
    assert parsed.counts.skipped == {reason: 1}


@pytest.mark.parametrize("display", ["/review", "/my-plugin:check x", "/clearance", "/etc/passwd?"])
def test_another_command_may_call_the_model_and_is_a_turn(display: str) -> None:
    assert [turn.user_text for turn in read(row(display)).turns] == [display]


def test_the_next_prompt_of_the_session_closes_a_turn() -> None:
    first, other, second = read(
        row("one"), row("elsewhere", AT + 1, sessionId="s2"), row("two", AT + 2)
    ).turns
    assert first.closed_by == "next_prompt"
    assert (other.closed_by, second.closed_by) == (None, None)


def test_the_id_of_a_prompt_stays_when_lines_before_it_are_gone() -> None:
    rows = [row("one"), row("two", AT + 1), row("three", AT + 2, sessionId=None)]
    whole, rest = read(*rows), read(*rows[1:])
    assert [turn.native_id for turn in whole.turns[1:]] == [turn.native_id for turn in rest.turns]
    assert [turn.session_id for turn in whole.turns[1:]] == [turn.session_id for turn in rest.turns]


def test_a_repeated_line_is_a_duplicate_and_the_same_prompt_later_is_not() -> None:
    parsed = read(row("continue"), row("continue"), row("continue", AT + 1))
    assert len(parsed.turns) == 2
    assert parsed.counts.skipped == {SkipReason.DUPLICATE: 1}


def test_prompts_without_a_session_have_one_for_each_day() -> None:
    parsed = formats.by_name(formats.PROMPT_HISTORY)
    assert parsed is not None
    turns = parsed.read((ARCHIVES / "without_sessions.jsonl").read_bytes()).turns
    assert [turn.ordinal for turn in turns] == [0, 1, 0]
    assert len({turn.session_id for turn in turns}) == 2
