"""Spans of secrets in one text."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import NamedTuple

from turnetl.redact.port import PATTERN

_PLACEHOLDER = re.compile(PATTERN.encode())
_MIN_REST = 8
"""Bytes next to a placeholder that are redacted. Fewer are the name or the quotes around a secret
that is redacted already; no generated token is shorter (see `plausible`)."""
_CONTINUATION_BYTE = 0x80
_WORD = re.compile(rb"[A-Za-z_]{1,20}")
_TAIL = re.compile(
    rb"(?:=|\^[A-Z]|(?:%|=|\\+x|\\+u00)[0-9A-Fa-f]{2}|\\+[nrt/]|&#?[A-Za-z0-9]{1,8};|[ \t\r\n])+"
)
DRAWN = "token"
"""The rule for secrets that only their characters identify."""
_ANNOUNCED = frozenset({DRAWN, "password", "secret-value", "flag", "url-parameter", "url-password"})
"""Rules whose secrets have no form of their own: they end where a delimiter does."""


class Span(NamedTuple):
    """The bytes of one text that are a secret, and the rule that found it."""

    start: int
    end: int
    rule: str


def is_issued(rule: str) -> bool:
    """Return whether the secrets of a rule have a form of their own, such as that of an issuer."""
    return rule not in _ANNOUNCED


def without_heads(
    data: bytes, spans: Iterable[Span], heads: Mapping[int, tuple[int, str]]
) -> Iterator[Span]:
    """Yield the spans without encoded characters around them, and words before these.

    A secret that starts within an encoded character was read as if its end belonged to it, and a
    drawn one is preceded by a word if only a colour separates them. `heads` has, by the starts of
    secrets that encoded characters precede, where these start, and the rule that found the secret.
    """
    starts = sorted(heads)
    spans, ends = [*spans], dict[int, set[int]]()
    for span in spans:
        if is_issued(span.rule):
            ends.setdefault(span.start, set()).add(span.end)
    for span in spans:
        inside = starts[bisect_right(starts, span.start) : bisect_left(starts, span.end)]
        start = next((one for one in inside if _is_head(data, span, *heads[one])), span.start)
        end = min(
            (
                one
                for one in ends.get(start, ())
                if one < span.end and _TAIL.fullmatch(data, one, span.end)
            ),
            default=span.end,
        )
        yield span._replace(start=start, end=end)


def _is_head(data: bytes, span: Span, head: int, rule: str) -> bool:
    """Return whether what precedes a secret in a span is no part of it."""
    if head <= span.start:
        # After a name, what quoted-printable encodes may be the start of the value.
        return is_issued(rule) or not data.startswith(b"=", head)
    is_word = _WORD.fullmatch(data, span.start, head) is not None
    return span.rule == DRAWN and (is_issued(rule) or is_word)


def merge_spans(data: bytes, spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, merged where they overlap, without those redacted already."""
    placeholders = [match.span() for match in _PLACEHOLDER.finditer(data)]
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.rule)):
        if _is_redacted(data, span, placeholders):
            continue
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(span.end, merged[-1].end))
        else:
            merged.append(_whole_characters(data, span))
    return merged


def _is_redacted(data: bytes, span: Span, placeholders: list[tuple[int, int]]) -> bool:
    """Return whether the span holds nothing to redact besides placeholders."""
    first = bisect_right(placeholders, span.start, key=itemgetter(1))
    last = bisect_left(placeholders, span.end, key=itemgetter(0))
    overlapping = placeholders[first:last]
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
