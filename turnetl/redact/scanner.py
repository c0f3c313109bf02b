"""The native scanner with its maintained rules: what it finds, and where."""

from collections.abc import Iterator
from typing import NamedTuple

import kingfisher_sdk

_WINDOW = 256 << 10
"""Bytes of one scan. Its time grows with the square where much is found, and a window costs little:
8 MB in one scan take 0.044 seconds, in windows 0.05."""
_OVERLAP = 16 << 10
"""Bytes that two windows have in common: no secret is longer, but PEM keys, for which we have rules
of our own."""
_LINE = 4 << 10
"""Bytes before the border of a window in which the end of a line is looked for."""


class Found(NamedTuple):
    """What the scanner calls a secret, by its own rule."""

    start: int
    end: int
    """Offsets of the scanner's own decoding: they may be wrong."""
    rule: str
    secret: bytes
    is_half: bool
    """One half of a pair, or a name beside it: the scanner keeps it to itself."""
    is_base64: bool
    """The secret is not in the text as such: the place is right, what stands there encodes it."""


class Scanner:
    """The native scanner; its rules are loaded at the first text."""

    def __init__(self) -> None:
        self._native: kingfisher_sdk.Scanner | None = None

    def scan(self, data: bytes) -> Iterator[Found]:
        """Yield what it finds; of a long text window by window, some of it twice."""
        for start, end in windows(data):
            for finding in self._of(data[start:end]):
                yield _found(finding, start)

    def _of(self, data: bytes) -> list[kingfisher_sdk.Finding]:
        if self._native is None:
            self._native = kingfisher_sdk.Scanner(kingfisher_sdk.Rules())
        return self._native.scan(data)


def windows(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the windows begin and end: at the ends of lines, where those are near."""
    start = 0
    while len(data) - start > _WINDOW + _OVERLAP:
        end = start + _WINDOW
        yield start, _border(data, end + _OVERLAP)
        start = _border(data, end)
    if data:
        yield start, len(data)


def _border(data: bytes, at: int) -> int:
    return data.rfind(b"\n", at - _LINE, at) + 1 or at


def _found(finding: kingfisher_sdk.Finding, before: int) -> Found:
    return Found(
        before + finding.location["start_offset"],
        before + finding.location["end_offset"],
        finding.rule_id,
        finding.secret.encode("utf-8", "surrogatepass"),
        not finding.visible,
        finding.is_base64_encoded,
    )
