"""What every format promises: the contract suite of the seam.

It reads the small archives under tests/archives, a folder a format: each file shows one trouble.
"""

import ast
import importlib.util
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl import formats
from turnetl.formats.base import Format, ParsedArchive, RawTurn
from turnetl.skip_reasons import SkipReason

SMALL = Path(__file__).parents[1] / "archives"
SAMPLES = [
    pytest.param(known, path, id=f"{known.name}/{path.name}")
    for known in formats.KNOWN
    for path in sorted((SMALL / known.name).iterdir())
]
UNKNOWN = sorted((SMALL / "unknown").iterdir())
ROOMS = {type(known).__module__.split(".")[2] for known in formats.KNOWN}


@pytest.mark.parametrize(("known", "path"), SAMPLES)
def test_an_archive_is_told_by_its_content(known: Format, path: Path) -> None:
    assert formats.sniff(path.read_bytes()) is known


@pytest.mark.parametrize("path", UNKNOWN, ids=lambda path: path.name)
def test_what_no_format_wrote_is_known_by_none(path: Path) -> None:
    assert formats.sniff(path.read_bytes()) is None


@pytest.mark.parametrize(("known", "path"), SAMPLES)
def test_every_line_is_used_or_skipped_for_a_reason(known: Format, path: Path) -> None:
    data = path.read_bytes()
    reading = known.read(data)
    assert accounted(reading)
    assert reading.counts.lines == len(data.splitlines(keepends=True)) or b"\r" in data
    assert reading.counts.turns == len(reading.turns)


@pytest.mark.parametrize(("known", "path"), SAMPLES)
def test_a_turn_has_an_id_of_its_own_a_session_and_a_place_in_it(known: Format, path: Path) -> None:
    turns = known.read(path.read_bytes()).turns
    assert len({turn.native_id for turn in turns}) == len(turns)
    for session in {turn.session_id for turn in turns}:
        assert session
        ordinals = [turn.ordinal for turn in turns if turn.session_id == session]
        assert ordinals == list(range(len(ordinals)))


@pytest.mark.parametrize(("known", "path"), SAMPLES)
def test_a_turn_leads_back_to_its_lines_and_bytes(known: Format, path: Path) -> None:
    data = path.read_bytes()
    for turn in known.read(data).turns:
        assert 0 <= turn.first_byte < turn.last_byte <= len(data)
        assert data.count(b"\n", 0, turn.first_byte) + 1 == turn.first_line
        assert turn.first_line <= turn.last_line <= data.count(b"\n") + 1


@pytest.mark.parametrize(("known", "path"), SAMPLES)
def test_times_are_aware_and_utc(known: Format, path: Path) -> None:
    turns = known.read(path.read_bytes()).turns
    assert all(time is None or time.tzinfo is UTC for turn in turns for time in _times(turn))


@pytest.mark.parametrize(("known", "path"), SAMPLES)
def test_the_same_bytes_give_the_same_turns(known: Format, path: Path) -> None:
    data = path.read_bytes()
    assert known.read(data) == known.read(data)


@pytest.mark.parametrize(("known", "path"), SAMPLES)
def test_an_archive_cut_off_anywhere_is_read_as_far_as_it_goes(known: Format, path: Path) -> None:
    data = path.read_bytes()
    whole = {turn.native_id for turn in known.read(data).turns}
    for end in range(0, len(data), max(1, len(data) // 40)):
        reading = known.read(data[:end])
        assert accounted(reading)
        assert len(reading.turns) <= len(whole)


@pytest.mark.parametrize("known", formats.KNOWN, ids=lambda known: known.name)
@given(st.data())
def test_no_damage_raises_or_loses_a_line_without_a_count(
    known: Format, data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from(sorted((SMALL / known.name).iterdir())))
    damaged = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 10))):
        at = data.draw(st.integers(0, max(0, len(damaged) - 1)))
        end = data.draw(st.integers(at, min(at + 50, len(damaged))))
        damaged[at:end] = data.draw(st.binary(max_size=8))
    formats.sniff(bytes(damaged))
    reading = known.read(bytes(damaged))
    assert accounted(reading)
    assert len({turn.native_id for turn in reading.turns}) == len(reading.turns)


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
    known = formats.named(name)
    assert known is not None
    data = (SMALL / name / file).read_bytes()
    rows = [json.loads(line) for line in data.splitlines() if line.strip()]
    array = json.dumps(rows, indent=indent).encode()
    assert formats.sniff(array) is known
    read, straight = known.read(array), known.read(data)
    assert accounted(read)
    assert [turn.native_id for turn in read.turns] == [turn.native_id for turn in straight.turns]


@given(st.binary(max_size=200))
def test_bytes_that_are_no_archive_are_known_by_none(data: bytes) -> None:
    assert formats.sniff(data) is None


def test_every_format_has_a_name_of_its_own() -> None:
    names = [known.name for known in formats.KNOWN]
    assert len(set(names)) == len(names)
    assert all(known.title for known in formats.KNOWN)


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_formats_do_not_import_each_other(room: str) -> None:
    others = {f"turnetl.formats.{other}" for other in ROOMS - {room}}
    assert not [name for name in _imported_by(room) if ".".join(name.split(".")[:3]) in others]


def accounted(reading: ParsedArchive) -> bool:
    counts = reading.counts
    assert all(isinstance(reason, SkipReason) for reason in counts.skipped)
    return counts.lines == counts.used + sum(counts.skipped.values())


def _times(turn: RawTurn) -> list[datetime | None]:
    return [turn.started_at, turn.ended_at, *(tool.ended_at for tool in turn.tool_calls)]


def _imported_by(room: str) -> Iterator[str]:
    spec = importlib.util.find_spec(f"turnetl.formats.{room}")
    assert spec is not None
    assert spec.origin is not None
    file = Path(spec.origin)
    for path in file.parent.glob("*.py") if file.name == "__init__.py" else [file]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                yield node.module or ""
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
