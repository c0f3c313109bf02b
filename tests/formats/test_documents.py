"""JSON documents, split into elements up to the first invalid JSON."""

import msgspec
import pytest

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.json_archives import is_document, parse_document, read_elements
from turnetl.formats.kit.json_scanner import replace_lone_surrogates
from turnetl.formats.kit.row_decoder import RowDecoder
from turnetl.formats.port import ParseCounts, Probe, SourceSpan


class Row(msgspec.Struct):
    a: int | None = None


@pytest.mark.parametrize(
    ("data", "is_one_value"),
    [
        (b'{"a": 1}\n{"a": 2}\n', False),
        (b'[{"a": 1},\n {"a": 2}]\n', True),
        (b'{\n "a": 1\n}\n', True),
        (b'[{"a": 1}]\n[{"a": 2}]\n', False),
        (b'[{"a": 1},\n {"a": ', True),
        (b"", False),
    ],
)
def test_a_document_is_one_value_and_not_one_value_per_line(
    data: bytes, is_one_value: bool
) -> None:
    assert is_document(data) is is_one_value


def test_arrays_on_lines_have_no_rows() -> None:
    assert not list(Probe(b"""[{"a": 1}]\n[{"a": 2}]\n""").rows)


def test_a_truncated_root_object_has_the_elements_before_the_truncation() -> None:
    (root,) = Probe(b'{\n "n": 7,\n "rows": [\n  {"a": 1},\n  {"a": 2},\n  {"a"').rows
    assert [row["a"] for row in root.objects_at("rows")] == [1, 2]
    assert root["n"] == 7


@pytest.mark.parametrize("key", [None, "rows"])
def test_content_after_the_end_of_a_document_is_invalid(key: str | None) -> None:
    data = (
        b'[\n {"a": 1}\n]\nand more\n' if key is None else b'{\n "rows": [{"a": 1}]\n}\nand more\n'
    )
    document = parse_document(data, key)
    counts = ParseCounts()
    rows: list[Row] = []
    read_elements(data, document, RowDecoder(Row), lambda row, _: rows.append(row), counts)
    assert [row.a for row in rows] == [1]
    assert document.invalid_at == data.index(b"and")
    assert (counts.invalid_lines, counts.first_invalid_line) == (1, 4)
    assert counts.skipped[SkipReason.INVALID_JSON] == 2


def test_an_element_has_its_lines_and_bytes() -> None:
    data = b'[\n {"a": 1}, {"a": 2},\n {\n  "a": 3\n }\n]\n'
    spans: list[SourceSpan] = []
    read_elements(
        data,
        parse_document(data),
        RowDecoder(Row),
        lambda _, span: spans.append(span),
        ParseCounts(),
    )
    assert [(span.line, span.last_line) for span in spans] == [(2, 2), (2, 2), (3, 5)]
    assert data[spans[1].start : spans[1].end] == b'{"a": 2}'


@pytest.mark.parametrize(
    ("written", "repaired"),
    [
        (rb"a \ud83d.", rb"a \u003f."),
        (rb"\uDE42\uD83D", rb"\u003f\u003f"),
        (rb"\ud83d\ude42", rb"\ud83d\ude42"),
        (rb"C:\\ud83d \ud83d", rb"C:\\ud83d \u003f"),
        (rb"\ud83d\ud83d\ude42", rb"\u003f\ud83d\ude42"),
    ],
)
def test_a_lone_surrogate_becomes_a_question_mark_of_the_same_length(
    written: bytes, repaired: bytes
) -> None:
    assert replace_lone_surrogates(written) == repaired
    assert len(written) == len(repaired)


def test_a_lone_surrogate_does_not_move_the_elements() -> None:
    data = b'{"rows": [{"b": "\\ud83d"}, {"a": 2}]}'
    document = parse_document(data, "rows")
    assert document.invalid_at is None
    assert [data[start : start + len(raw)][:4] for start, raw in document.elements] == [
        b'{"b"',
        b'{"a"',
    ]


def test_lines_with_lone_surrogates_are_not_a_document() -> None:
    assert not is_document(b'{"a": "\\ud83d"}\n{"a": "\\ud83d"}\n')
    assert [*Probe(b'{"a": {"b": "\\ud83d"}, "c": 1}\n').first] == ["a", "c"]
