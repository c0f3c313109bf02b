"""The native secret scanner with its maintained rules."""

from collections.abc import Iterator
from functools import cache, cached_property
from typing import NamedTuple

import kingfisher_sdk

_WINDOW = 256 << 10
"""Bytes of one scan. The time of a scan grows with the square of its findings, and a window costs
little: 8 MB take 0.044 seconds in one scan and 0.05 in windows."""
_OVERLAP = 16 << 10
"""Bytes that two windows share. No secret is longer but PEM keys, which have own rules."""
_LINE = 4 << 10
"""Bytes before the boundary of a window that are searched for the end of a line."""


class ScannerFinding(NamedTuple):
    """A secret that the scanner found, with the scanner's own rule."""

    start: int
    end: int
    """Offsets in the scanner's own decoding: they may be wrong."""
    rule: str
    secret: bytes
    is_partial: bool
    """One half of a pair, or a name next to it, which the scanner does not report by default."""
    is_base64: bool
    """The text holds the secret encoded, at these offsets; the secret is the decoded value."""


class SecretScanner:
    def scan(self, data: bytes) -> Iterator[ScannerFinding]:
        """Yield the findings. A long text is scanned in windows, and may yield a finding twice."""
        for start, end in windows(data):
            for finding in self._native.scan(data[start:end]):
                yield ScannerFinding(
                    start + finding.location["start_offset"],
                    start + finding.location["end_offset"],
                    finding.rule_id,
                    finding.secret.encode("utf-8", "surrogatepass"),
                    not finding.visible,
                    finding.is_base64_encoded,
                )

    @cached_property
    def _native(self) -> kingfisher_sdk.Scanner:
        return kingfisher_sdk.Scanner(native_rules())


@cache
def native_rules() -> kingfisher_sdk.Rules:
    """Load the rules once for all scanners of this process: it takes half a second."""
    return kingfisher_sdk.Rules()


def windows(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of the windows, at the ends of lines where these are near."""
    start = 0
    while len(data) - start > _WINDOW + _OVERLAP:
        end = start + _WINDOW
        yield start, _line_boundary(data, end + _OVERLAP)
        start = _line_boundary(data, end)
    if data:
        yield start, len(data)


def _line_boundary(data: bytes, offset: int) -> int:
    return data.rfind(b"\n", offset - _LINE, offset) + 1 or offset
