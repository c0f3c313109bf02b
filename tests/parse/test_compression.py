"""gzip and zstd archives: members, padding, damage."""

import gzip

import pytest

from turnetl.parsing.compression import DecompressionStatus, decompress

LIMIT = 1 << 20
TEXT = b"a line\n" * 1000


@pytest.mark.parametrize("padding", [b"", b"\0", b"\0" * 5000])
def test_members_are_one_text_and_zeros_at_the_end_are_padding(padding: bytes) -> None:
    data = gzip.compress(TEXT) + gzip.compress(b"") + gzip.compress(b"end") + padding
    found = decompress(data, LIMIT)
    assert (found.data, found.status) == (TEXT + b"end", DecompressionStatus.COMPLETE)


def test_zeros_between_members_are_damage() -> None:
    found = decompress(gzip.compress(TEXT) + b"\0\0" + gzip.compress(TEXT), LIMIT)
    assert (found.data, found.status) == (TEXT, DecompressionStatus.CORRUPT)


def test_the_cost_of_a_member_does_not_depend_on_what_follows_it() -> None:
    """With a copy of the rest for each member, these would be a hundred gigabytes."""
    found = decompress(gzip.compress(b"first") + gzip.compress(b"") * 100_000, LIMIT)
    assert (found.data, found.status) == (b"first", DecompressionStatus.COMPLETE)
