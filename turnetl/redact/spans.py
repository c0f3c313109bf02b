"""Places in one text: bytes that are a secret."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

_KEPT = re.compile(rb"\[REDACTED:[a-z0-9-]+:[0-9a-f]{4}\]")
_WORTH_CUTTING = 8
"""Bytes left beside a placeholder: fewer are the name or the quotes around a secret that is
cut out already, and no drawn token is shorter (see `plausible`)."""
_INSIDE_CHARACTER = 0x80


class Span(NamedTuple):
    """Bytes of one text that are a secret, and the rule that says so."""

    start: int
    end: int
    rule: str


def occurrences(data: bytes, secrets: Mapping[bytes, str]) -> Iterator[Span]:
    for secret, rule in secrets.items():
        at = data.find(secret)
        while secret and at >= 0:
            yield Span(at, at + len(secret), rule)
            at = data.find(secret, at + len(secret))


def merged(data: bytes, spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, overlapping ones as one, without what is cut out already."""
    kept = _Kept(data)
    whole: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.rule)):
        if _cut_already(data, span, kept):
            continue
        if whole and span.start < whole[-1].end:
            whole[-1] = whole[-1]._replace(end=max(span.end, whole[-1].end))
        else:
            whole.append(_whole_characters(data, span))
    return whole


class _Kept:
    """The placeholders in a text."""

    def __init__(self, data: bytes) -> None:
        places = [match.span() for match in _KEPT.finditer(data)]
        self._starts = [start for start, _ in places]
        self._ends = [end for _, end in places]

    def over(self, span: Span) -> list[tuple[int, int]]:
        """Return those that have bytes in common with the span."""
        these = slice(bisect_right(self._ends, span.start), bisect_left(self._starts, span.end))
        return [*zip(self._starts[these], self._ends[these], strict=True)]


def _cut_already(data: bytes, span: Span, kept: _Kept) -> bool:
    """Say whether nothing worth cutting is left of the span beside placeholders."""
    over = kept.over(span)
    if any(start < span.start or span.end < end for start, end in over):
        return True
    left = _KEPT.sub(b"", data[span.start : span.end])
    return not left.strip() or (bool(over) and len(left.strip()) < _WORTH_CUTTING)


def _whole_characters(data: bytes, span: Span) -> Span:
    start, end = span.start, span.end
    while start > 0 and data[start] & 0xC0 == _INSIDE_CHARACTER:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == _INSIDE_CHARACTER:
        end += 1
    return Span(start, end, span.rule)
