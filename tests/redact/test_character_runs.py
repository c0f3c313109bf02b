"""Runs of characters are those of a pattern, wherever the bytes are cut."""

import re

from hypothesis import given
from hypothesis import strategies as st

from turnetl.redact.character_runs import runs_with_digits

RUN = re.compile(rb"[A-Za-z0-9+/_-]+")
BYTES = st.lists(
    st.binary(max_size=20)
    | st.text("aZ+/_-", max_size=20).map(str.encode)
    | st.text("aZ059", min_size=10, max_size=40).map(str.encode),
    max_size=20,
).map(b"".join)


def matches(data: bytes, min_bytes: int, max_bytes: int) -> list[tuple[int, int]]:
    return [
        match.span()
        for match in RUN.finditer(data)
        if min_bytes <= len(match[0]) <= max_bytes and re.search(rb"[0-9]", match[0])
    ]


@given(BYTES, st.integers(1, 30), st.integers(30, 255))
def test_the_runs_are_those_of_the_pattern_that_have_a_digit(
    data: bytes, min_bytes: int, max_bytes: int
) -> None:
    assert [*runs_with_digits(data, min_bytes, max_bytes)] == matches(data, min_bytes, max_bytes)


def test_a_run_across_two_pieces_is_found_whole() -> None:
    megabyte = 1 << 20
    for start in (megabyte - 20, megabyte - 1, megabyte, 2 * megabyte - 3):
        data = b" " * start + b"a1" * 10 + b" " * megabyte + b"9" * 16
        assert [*runs_with_digits(data, 16, 200)] == matches(data, 16, 200)
    assert [*runs_with_digits(b"1" * 3 * megabyte, 16, 200)] == []
