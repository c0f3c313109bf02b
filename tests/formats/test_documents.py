"""Documents: taken apart as far as they are JSON."""

import msgspec
import pytest

from turnetl.formats.base import Counts, Place, Probe
from turnetl.formats.kit.documents import document, is_document, read_elements
from turnetl.formats.kit.rows import Rows
from turnetl.formats.kit.shallow_json import whole_characters
from turnetl.skip_reasons import SkipReason


class Row(msgspec.Struct):
    a: int | None = None


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        (b'{"a": 1}\n{"a": 2}\n', False),
        (b'[{"a": 1},\n {"a": 2}]\n', True),
        (b'{\n "a": 1\n}\n', True),
        (b'[{"a": 1}]\n[{"a": 2}]\n', False),
        (b'[{"a": 1},\n {"a": ', True),
        (b"", False),
    ],
)
def test_a_document_is_one_value_and_not_one_a_line(data: bytes, whole: bool) -> None:
    assert is_document(data) is whole


def test_lists_on_lines_hold_no_rows() -> None:
    assert not list(Probe(b"""[{"a": 1}]\n[{"a": 2}]\n""").rows)


def test_a_root_that_is_cut_off_shows_what_its_lists_hold_so_far() -> None:
    (root,) = Probe(b'{\n "n": 7,\n "rows": [\n  {"a": 1},\n  {"a": 2},\n  {"a"').rows
    assert [row["a"] for row in root.each("rows")] == [1, 2]
    assert root["n"] == 7


@pytest.mark.parametrize("key", [None, "rows"])
def test_what_stands_behind_the_end_of_a_document_is_broken(key: str | None) -> None:
    data = (
        b'[\n {"a": 1}\n]\nand more\n' if key is None else b'{\n "rows": [{"a": 1}]\n}\nand more\n'
    )
    parts = document(data, key)
    counts = Counts()
    taken: list[Row] = []
    read_elements(data, parts, Rows(Row), lambda row, _: taken.append(row), counts)
    assert [row.a for row in taken] == [1]
    assert parts.broken_at == data.index(b"and")
    assert (
        counts.bad_lines,
        counts.skipped[SkipReason.INVALID_JSON],
        counts.first_broken_line,
    ) == (1, 2, 4)


def test_elements_know_their_lines_and_bytes() -> None:
    data = b'[\n {"a": 1}, {"a": 2},\n {\n  "a": 3\n }\n]\n'
    places: list[Place] = []
    read_elements(data, document(data), Rows(Row), lambda _, place: places.append(place), Counts())
    assert [(place.line, place.last_line) for place in places] == [(2, 2), (2, 2), (3, 5)]
    assert data[places[1].start : places[1].end] == b'{"a": 2}'


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (rb"a \ud83d.", rb"a \u003f."),
        (rb"\uDE42\uD83D", rb"\u003f\u003f"),
        (rb"\ud83d\ude42", rb"\ud83d\ude42"),
        (rb"C:\\ud83d \ud83d", rb"C:\\ud83d \u003f"),
        (rb"\ud83d\ud83d\ude42", rb"\u003f\ud83d\ude42"),
    ],
)
def test_half_a_character_is_a_question_mark_as_long(written: bytes, read: bytes) -> None:
    assert whole_characters(written) == read
    assert len(written) == len(read)


def test_half_a_character_leaves_elements_where_they_stand() -> None:
    data = b'{"rows": [{"b": "\\ud83d"}, {"a": 2}]}'
    parts = document(data, "rows")
    assert parts.broken_at is None
    assert [data[start : start + len(raw)][:4] for start, raw in parts.elements] == [
        b'{"b"',
        b'{"a"',
    ]


def test_lines_with_half_a_character_are_no_document() -> None:
    assert not is_document(b'{"a": "\\ud83d"}\n{"a": "\\ud83d"}\n')
    assert [*Probe(b'{"a": {"b": "\\ud83d"}, "c": 1}\n').first] == ["a", "c"]
