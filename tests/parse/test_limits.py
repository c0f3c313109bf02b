"""Small archives with more values, turns or messages than memory should be spent on."""

import json
from pathlib import Path

import pytest

from tests.parse.parse_runs import one_turn, outcomes, run
from turnetl import formats
from turnetl.base.model import GroupId
from turnetl.base.reason import SkipReason
from turnetl.formats.kit.counts import MAX_ROWS, has_too_many_values
from turnetl.lake import Lake

SHOP = GroupId("shop")
MANY_VALUES = "[]," * (1 << 20)
TOO_LONG = f'"{"a" * (9 << 20)}",'
GEMINI = '"sessionId":"s1","projectHash":"h"'
GEMINI_PROMPT = '{"id":"a","type":"user","content":"Mend."}'
CHAT_PROMPT = '{"role":"user","content":"Mend."}'


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def prompts(lake: Lake) -> list[str]:
    return [turn.user_text for turn in lake.turns(SHOP)]


def test_a_valid_line_with_too_many_values_is_counted_and_named(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text(f'{one_turn()}{{"type":"x","a":[{MANY_VALUES}1]}}\n')
    report = run(lake, path)
    (problem,) = report.problems
    line = one_turn().count("\n") + 1
    assert (problem.reason, problem.line) == (SkipReason.TOO_MANY_VALUES, line)
    assert "too many JSON values" in problem.message
    assert report.read.skipped == {SkipReason.TOO_MANY_VALUES: 1}
    assert prompts(lake) == ["Mend the cart."]


@pytest.mark.parametrize("values", [MANY_VALUES, TOO_LONG], ids=["many values", "long"])
def test_a_damaged_line_with_too_many_values_or_too_long_to_be_repaired_is_invalid(
    values: str, lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text(f'{one_turn()}{{"type":"x","a":[{values}1]\n')
    (problem,) = run(lake, path).problems
    assert (problem.reason, problem.line) == (SkipReason.INVALID_JSON, one_turn().count("\n") + 1)
    assert prompts(lake) == ["Mend the cart."]


@pytest.mark.full
def test_an_element_with_too_many_values_is_counted_and_named(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "s1.json"
    element = f'{{"id":"b","type":"user","x":[{MANY_VALUES}1]}}'
    path.write_text(f'{{{GEMINI},"messages":[\n{GEMINI_PROMPT},\n{element}]}}')
    report = run(lake, path)
    (problem,) = report.problems
    assert (problem.reason, problem.line) == (SkipReason.TOO_MANY_VALUES, 3)
    assert report.read.skipped[SkipReason.TOO_MANY_VALUES] == 1
    assert report.read.turns == 1


def test_separators_in_a_text_are_no_values() -> None:
    text = "[{,\\]" * (1 << 20)
    assert not has_too_many_values(json.dumps({"a": text, "b": [text]}).encode())
    assert has_too_many_values(f'{{"a":"{text}","b":[{MANY_VALUES}1]}}'.encode())


@pytest.mark.full
@pytest.mark.parametrize(
    ("start", "row", "end"),
    [
        ("", f'{{"messages":[{CHAT_PROMPT}]}}\n', ""),
        (f"[{CHAT_PROMPT}", f",{CHAT_PROMPT}", "]"),
        (f'{{{GEMINI},"messages":[\n{GEMINI_PROMPT}', ",{}", "]}"),
        (f'{{{GEMINI},"messages":[\n{GEMINI_PROMPT}', ",{}", "]"),
        (f"{{{GEMINI}}}\n", f"{GEMINI_PROMPT}\n", ""),
    ],
    ids=["lines", "chat", "empty messages", "truncated", "gemini lines"],
)
def test_an_archive_with_too_many_turns_or_messages_is_skipped_and_named(
    start: str, row: str, end: str, lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "s1.json"
    path.write_text(start + row * (MAX_ROWS + 1) + end)
    report = run(lake, path)
    (problem,) = report.problems
    assert problem.reason is SkipReason.TOO_MANY_ROWS
    assert problem.message.endswith("split it into several archives.")
    assert outcomes(report) == ["unreadable"]
    assert lake.groups() == []


def test_a_large_document_has_the_same_turns_as_a_small_one() -> None:
    """It is scanned, and not decoded: its text has more commas than an archive may have rows."""
    root = {
        "sessionId": "s1",
        "projectHash": "h",
        "x": [1, [2], {"a": None}],
        "messages": [
            {"id": str(number), "type": "user", "content": f'{number} \\ " {{'}
            for number in range(3)
        ],
    }
    large = json.dumps(root | {"y": "," * MAX_ROWS}, indent=1).encode()
    detected = formats.sniff(large)
    assert detected is not None
    turns = detected.read(large).turns
    assert [turn.user_text for turn in turns] == [f'{number} \\ " {{' for number in range(3)]
    assert [turn.native_id for turn in turns] == [
        turn.native_id for turn in detected.read(json.dumps(root, indent=1).encode()).turns
    ]
