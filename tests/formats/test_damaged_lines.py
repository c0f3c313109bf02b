"""Complete rows on damaged lines: after a row that was cut off, after NUL, several of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl import formats
from turnetl.base.reason import SkipReason
from turnetl.formats.kit.row_decoder import Envelope, rows_on_line
from turnetl.formats.port import ParsedArchive

ENVELOPE = Envelope(own=(frozenset({"type", "id"}),))
QUOTED = json.dumps({"type": "user", "id": "quoted"})
TEXTS = st.sampled_from(["Grün 🙂", 'a "quoted" \\ text {', QUOTED, f"{{{QUOTED}}}", ""])
BODIES = st.one_of(TEXTS, st.fixed_dictionaries({"type": TEXTS, "parts": st.lists(TEXTS)}))
ROWS = st.fixed_dictionaries(
    {"type": st.just("user"), "id": st.text(max_size=3), "body": BODIES}
).map(lambda row: json.dumps(row, ensure_ascii=False).encode())
CUT_ROWS = st.tuples(ROWS, st.floats(0, 1)).map(lambda cut: cut[0][: int(len(cut[0]) * cut[1])])
NUL = st.integers(1, 40).map(lambda number: b"\0" * number)


@given(st.lists(st.tuples(st.one_of(CUT_ROWS, NUL), ROWS), min_size=1), CUT_ROWS | NUL)
def test_every_complete_row_of_a_damaged_line_is_found_at_its_place(
    pieces: list[tuple[bytes, bytes]], rest: bytes
) -> None:
    line, places = b"", []
    for damage, row in pieces:
        # A cut that leaves a valid object, with the next row in it, cannot be told from that.
        line += damage + b"\0" + row
        places.append((len(line) - len(row), len(line)))
    found = rows_on_line(line + rest, ENVELOPE)
    assert [place for place in found.places if place in places] == places
    assert not found.is_all


PROMPT = {
    "type": "user",
    "uuid": "p1",
    "sessionId": "s",
    "timestamp": "2026-03-02T09:00:00Z",
    "message": {"role": "user", "content": "Mend the cart. Grün 🙂"},
}
NEXT = PROMPT | {"uuid": "p2", "message": {"role": "user", "content": "Now the till."}}
NESTED = {
    "type": "progress",
    "uuid": "x",
    "sessionId": "s",
    "data": {
        "message": {"type": "user", "uuid": "n", "timestamp": "", "message": PROMPT["message"]}
    },
}
RESULT = PROMPT | {"uuid": "r", "message": {"role": "user", "content": json.dumps(PROMPT)}}


def encoded(row: object) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode()


def read(data: bytes) -> ParsedArchive:
    format_ = formats.by_name("claude_code")
    assert format_ is not None
    parsed = format_.read(data)
    counts = parsed.counts
    assert counts.lines == counts.used + sum(counts.skipped.values())
    return parsed


def test_wherever_a_row_is_cut_off_the_row_after_it_is_read() -> None:
    first, second = encoded(PROMPT), encoded(NEXT)
    for cut_row in map(encoded, (PROMPT, NESTED, RESULT)):
        for cut in range(1, len(cut_row)):
            line = cut_row[:cut] + second
            parsed = read(b"%s\n%s\n" % (first, line))
            prompt = parsed.turns[-1]
            assert [turn.prompt_id for turn in parsed.turns] == ["p1", "p2"]
            assert (prompt.first_line, prompt.first_byte) == (2, len(first) + 1 + cut)
            assert prompt.last_byte == len(first) + 1 + len(line)
            assert parsed.counts.skipped == {SkipReason.INVALID_JSON: 1}
            assert (parsed.counts.used, parsed.counts.invalid_lines) == (1, 1)


def test_a_row_between_two_halves_of_another_is_read() -> None:
    first, second = encoded(NESTED), encoded(NEXT)
    halves = [(first[:cut], first[cut:]) for cut in range(1, len(first), 7)]
    for start, rest in halves:
        assert [turn.prompt_id for turn in read(start + second + rest).turns] == ["p2"]


def test_what_is_inside_of_a_damaged_row_is_no_row() -> None:
    for row in map(encoded, (NESTED, RESULT)):
        for cut in range(1, len(row)):
            assert read(row[:cut]).turns == []
            turns = read(row[:cut] + b'"\xff' + row[cut + 1 :]).turns
            assert {turn.prompt_id for turn in turns}.isdisjoint({"n", "p1"})


def test_nul_before_and_after_rows_loses_none() -> None:
    first, second = encoded(PROMPT), encoded(NEXT)
    for line in (b"\0" * 9 + first + b"\0" * 9 + second, first + b"\0" + second + b"\0" * 9):
        parsed = read(line)
        assert [turn.prompt_id for turn in parsed.turns] == ["p1", "p2"]
        assert [line[turn.first_byte :][:1] for turn in parsed.turns] == [b"{", b"{"]
        assert parsed.counts.invalid_lines == 1


@pytest.mark.full
def test_a_row_after_a_long_damaged_row_is_read_and_endless_nesting_is_given_up() -> None:
    second = encoded(NEXT)
    for stub in (
        encoded(PROMPT | {"message": {"content": "x" * 9_000_000}})[:-5],
        b'{"type":"user","lines":[' + b'{"a":1},' * 10_000,
        b'{"type":"user","text":"' + b'{\\"' * 100_000,
    ):
        assert [turn.prompt_id for turn in read(stub + second).turns] == ["p2"]
    for endless in (b'{"a":' * 300_000, b'{"' * 500_000, b'{"a":[{"type":"x"}' * 50_000):
        assert read(endless).counts.skipped == {SkipReason.INVALID_JSON: 1}
