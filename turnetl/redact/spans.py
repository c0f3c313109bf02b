"""Spans of secrets in one text."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from turnetl.redact.placeholder import PATTERN

_PLACEHOLDER = re.compile(PATTERN.encode())
_MIN_REST = 8
"""Bytes next to a placeholder that are redacted. Fewer are the name or the quotes around a secret
that is redacted already; no generated token is shorter (see `plausible`)."""
_CONTINUATION_BYTE = 0x80


class Span(NamedTuple):
    """The bytes of one text that are a secret, and the rule that found it."""

    start: int
    end: int
    rule: str


def occurrences(data: bytes, secrets: Mapping[bytes, str]) -> Iterator[Span]:
    """Yield all places of the secrets; `secrets` maps each to its rule."""
    for secret, rule in secrets.items():
        start = data.find(secret)
        while secret and start >= 0:
            end = start + len(secret)
            yield Span(start, end, rule)
            start = data.find(secret, end)


def merge_spans(data: bytes, spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, merged where they overlap, without those redacted already."""
    placeholders = _Placeholders(data)
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.rule)):
        if _is_redacted(data, span, placeholders):
            continue
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(span.end, merged[-1].end))
        else:
            merged.append(_whole_characters(data, span))
    return merged


class _Placeholders:
    """The placeholders in a text."""

    def __init__(self, data: bytes) -> None:
        places = [match.span() for match in _PLACEHOLDER.finditer(data)]
        self._starts = [start for start, _ in places]
        self._ends = [end for _, end in places]

    def overlapping(self, span: Span) -> list[tuple[int, int]]:
        """Return those that have bytes in common with the span."""
        indexes = slice(bisect_right(self._ends, span.start), bisect_left(self._starts, span.end))
        return [*zip(self._starts[indexes], self._ends[indexes], strict=True)]


def _is_redacted(data: bytes, span: Span, placeholders: _Placeholders) -> bool:
    """Return whether the span holds nothing to redact besides placeholders."""
    overlapping = placeholders.overlapping(span)
    if any(start < span.start or span.end < end for start, end in overlapping):
        return True
    rest = _PLACEHOLDER.sub(b"", data[span.start : span.end]).strip()
    return not rest or (bool(overlapping) and len(rest) < _MIN_REST)


def _whole_characters(data: bytes, span: Span) -> Span:
    start, end = span.start, span.end
    while start > 0 and data[start] & 0xC0 == _CONTINUATION_BYTE:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == _CONTINUATION_BYTE:
        end += 1
    return Span(start, end, span.rule)
