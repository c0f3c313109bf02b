"""The contract of the Format port, for every format.

It reads the samples under tests/archives, one folder per format. Each file shows one difficulty.
"""

import ast
import importlib.util
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl import formats
from turnetl.base.reason import SkipReason
from turnetl.formats import Format
from turnetl.formats.port import ParsedArchive, RawTurn

ARCHIVES = Path(__file__).parents[1] / "archives"
SAMPLES = [
    pytest.param(format_, path, id=f"{format_.name}/{path.name}")
    for format_ in formats.FORMATS
    for path in sorted((ARCHIVES / format_.name).iterdir())
]
UNKNOWN = sorted((ARCHIVES / "unknown").iterdir())
PACKAGES = {format_.reader.partition(":")[0] for format_ in formats.FORMATS}


@pytest.mark.parametrize(("format_", "path"), SAMPLES)
def test_an_archive_is_recognised_by_its_content(format_: Format, path: Path) -> None:
    assert formats.sniff(path.read_bytes()) is format_


@pytest.mark.parametrize("path", UNKNOWN, ids=lambda path: path.name)
def test_a_file_of_another_tool_is_recognised_by_no_format(path: Path) -> None:
    assert formats.sniff(path.read_bytes()) is None


@pytest.mark.parametrize(("format_", "path"), SAMPLES)
def test_every_line_is_used_or_skipped_for_a_reason(format_: Format, path: Path) -> None:
    data = path.read_bytes()
    parsed = format_.read(data)
    assert is_accounted(parsed)
    assert parsed.counts.lines == len(data.splitlines(keepends=True)) or b"\r" in data
    assert parsed.counts.turns == len(parsed.turns)


@pytest.mark.parametrize(("format_", "path"), SAMPLES)
def test_a_turn_has_a_unique_id_a_session_and_an_ordinal(format_: Format, path: Path) -> None:
    turns = format_.read(path.read_bytes()).turns
    assert len({turn.native_id for turn in turns}) == len(turns)
    for session in {turn.session_id for turn in turns}:
        assert session
        ordinals = [turn.ordinal for turn in turns if turn.session_id == session]
        assert ordinals == list(range(len(ordinals)))


@pytest.mark.parametrize(("format_", "path"), SAMPLES)
def test_a_turn_leads_back_to_its_lines_and_bytes(format_: Format, path: Path) -> None:
    data = path.read_bytes()
    for turn in format_.read(data).turns:
        assert 0 <= turn.first_byte < turn.last_byte <= len(data)
        assert data.count(b"\n", 0, turn.first_byte) + 1 == turn.first_line
        assert turn.first_line <= turn.last_line <= data.count(b"\n") + 1


@pytest.mark.parametrize(("format_", "path"), SAMPLES)
def test_what_a_user_says_during_a_turn_has_a_place_in_it(format_: Format, path: Path) -> None:
    for turn in format_.read(path.read_bytes()).turns:
        said = ((turn.steering, turn.steering_at), (turn.user_answers, turn.answers_at))
        for texts, places in said:
            assert len(texts) == len(places)
            assert places == sorted(places)
            assert max(places, default=0) <= len(turn.assistant_texts)


@pytest.mark.parametrize(("format_", "path"), SAMPLES)
def test_times_are_aware_and_utc(format_: Format, path: Path) -> None:
    turns = format_.read(path.read_bytes()).turns
    assert all(time is None or time.tzinfo is UTC for turn in turns for time in _times(turn))


@pytest.mark.parametrize(("format_", "path"), SAMPLES)
def test_the_same_bytes_give_the_same_turns(format_: Format, path: Path) -> None:
    data = path.read_bytes()
    assert format_.read(data) == format_.read(data)


@pytest.mark.parametrize(("format_", "path"), SAMPLES)
def test_an_archive_truncated_anywhere_is_read_up_to_the_truncation(
    format_: Format, path: Path
) -> None:
    data = path.read_bytes()
    all_ids = {turn.native_id for turn in format_.read(data).turns}
    for end in range(0, len(data), max(1, len(data) // 40)):
        parsed = format_.read(data[:end])
        assert is_accounted(parsed)
        assert len(parsed.turns) <= len(all_ids)


@pytest.mark.parametrize("format_", formats.FORMATS, ids=lambda format_: format_.name)
@given(st.data())
def test_damage_neither_raises_nor_leaves_a_line_uncounted(
    format_: Format, data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from(sorted((ARCHIVES / format_.name).iterdir())))
    damaged = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 10))):
        at = data.draw(st.integers(0, max(0, len(damaged) - 1)))
        end = data.draw(st.integers(at, min(at + 50, len(damaged))))
        damaged[at:end] = data.draw(st.binary(max_size=8))
    formats.sniff(bytes(damaged))
    parsed = format_.read(bytes(damaged))
    assert is_accounted(parsed)
    assert len({turn.native_id for turn in parsed.turns}) == len(parsed.turns)


VALUES: tuple[Any, ...] = (
    None,
    True,
    -1.5,
    10**30,
    "x",
    [],
    [1],
    [[]],
    {},
    {"a": [1]},
    [{"a": {}}],
)
"""A value of every type, also of those that are not hashable."""


@pytest.mark.parametrize("format_", formats.FORMATS, ids=lambda format_: format_.name)
@given(st.data())
def test_a_value_of_another_type_neither_raises_nor_leaves_a_line_uncounted(
    format_: Format, data: st.DataObject
) -> None:
    samples = map(Path.read_bytes, sorted((ARCHIVES / format_.name).iterdir()))
    # A sample may be nothing but objects of several lines each.
    lines = data.draw(st.sampled_from([*filter(any, map(_json_values, samples))]))
    place = data.draw(st.sampled_from([number for number, line in enumerate(lines) if line]))
    node = data.draw(st.sampled_from([*_places(json.loads(lines[place]))]))
    for value in VALUES:
        mutated_line = json.dumps(_replaced(json.loads(lines[place]), node, value)).encode()
        mutated = b"\n".join([*lines[:place], mutated_line, *lines[place + 1 :]])
        formats.sniff(mutated)
        parsed = format_.read(mutated)
        assert is_accounted(parsed)
        assert len({turn.native_id for turn in parsed.turns}) == len(parsed.turns)


def _json_values(data: bytes) -> list[bytes]:
    """Return the document, or the lines that are valid; an empty text for every other line."""
    return [data] if _is_json(data) else [line * _is_json(line) for line in data.split(b"\n")]


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def _places(value: Any, before: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the place of every value inside a value: the keys and positions that lead to it."""
    yield before
    items = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else items:
        yield from _places(inner, (*before, key))


def _replaced(value: Any, place: tuple[str | int, ...], new: Any) -> Any:
    if not place:
        return new
    value[place[0]] = _replaced(value[place[0]], place[1:], new)
    return value


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("claude_code", "steering.jsonl"),
        ("codex", "steering.jsonl"),
        ("gemini_jsonl", "steering.jsonl"),
        ("gemini_stream", "runs.jsonl"),
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_rows_saved_as_one_array_give_the_same_turns(
    name: str, file: str, indent: int | None
) -> None:
    format_ = formats.by_name(name)
    assert format_ is not None
    data = (ARCHIVES / name / file).read_bytes()
    rows = [json.loads(line) for line in data.splitlines() if line.strip()]
    array = json.dumps(rows, indent=indent).encode()
    assert formats.sniff(array) is format_
    read, straight = format_.read(array), format_.read(data)
    assert is_accounted(read)
    assert [turn.native_id for turn in read.turns] == [turn.native_id for turn in straight.turns]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("claude_web", "export.json"),
        ("codex_json", "session.json"),
        ("gemini_json", "session.json"),
        ("openai_conv", "document.json"),
        ("sharegpt", "document.json"),
        ("opencode", "export.json"),
    ],
)
def test_text_before_and_after_a_document_changes_no_turn(name: str, file: str) -> None:
    data = (ARCHIVES / name / file).read_bytes()
    format_ = formats.by_name(name)
    assert format_ is not None
    turns = format_.read(data).turns
    ids, prompts = [turn.native_id for turn in turns], [turn.user_text for turn in turns]
    compact = json.dumps(json.loads(data)).encode()
    for document in (data, compact, json.dumps(json.loads(data), indent=2).encode()):
        for before in (b"Exporting session: s\n", b"\x1b[0m[info] Done\x1b[0m", b"> cat x\r\n\r\n"):
            archive = before + document
            assert formats.sniff(archive) is format_
            parsed = format_.read(archive)
            assert [turn.native_id for turn in parsed.turns] == ids
            assert all(archive[turn.first_byte :][:1] == b"{" for turn in parsed.turns)
            assert is_accounted(parsed)
        for after in (b"\n\x1b[0m", b"\nDone in 2 s.\n", b"\0" * 9):
            assert formats.sniff(document + after) is format_
            parsed = format_.read(document + after)
            assert [turn.user_text for turn in parsed.turns] == prompts
            assert parsed.counts.invalid_lines == 1


@given(st.binary(max_size=200))
def test_random_bytes_are_recognised_by_no_format(data: bytes) -> None:
    assert formats.sniff(data) is None


def test_every_format_has_a_unique_name() -> None:
    names = [format_.name for format_ in formats.FORMATS]
    assert len(set(names)) == len(names)
    assert all(format_.title for format_ in formats.FORMATS)


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_formats_do_not_import_each_other(package: str) -> None:
    others = {f"turnetl.formats.{other}" for other in PACKAGES - {package}}
    assert not [name for name in _imported_by(package) if ".".join(name.split(".")[:3]) in others]


def is_accounted(parsed: ParsedArchive) -> bool:
    counts = parsed.counts
    assert all(isinstance(reason, SkipReason) for reason in counts.skipped)
    return counts.lines == counts.used + sum(counts.skipped.values())


def _times(turn: RawTurn) -> list[datetime | None]:
    return [turn.started_at, turn.ended_at, *(tool.ended_at for tool in turn.tool_calls)]


def _imported_by(package: str) -> Iterator[str]:
    spec = importlib.util.find_spec(f"turnetl.formats.{package}")
    assert spec is not None
    assert spec.origin is not None
    file = Path(spec.origin)
    for path in file.parent.glob("*.py") if file.name == "__init__.py" else [file]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                yield node.module or ""
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
