"""The secrets that a match of a rule announces, if they can be secrets."""

import re
from collections.abc import Callable, Iterator

from turnetl.redact.normalised import escape_before
from turnetl.redact.rule import SecretRule
from turnetl.redact.spans import Span

_MAX_KEY_BYTES = 16_384
"""Bytes matched backwards from the end of a key. OpenSSL accepts RSA keys of up to 16,384 bits:
12.6 kB as PEM. The rest allows for line numbers and quotes between its lines."""
_MAX_NESTED_BYTES = 200
"""Bytes of an implausible match. Another match may start within a match of up to this size."""
_ENDS_WITH_WORD = re.compile(rb"[A-Za-z0-9]\Z")


FirstMatch = Callable[[SecretRule, int], re.Match[bytes] | None]
"""Returns the first match of a rule that starts at an offset or after it."""


def spans_of_rule(rule: SecretRule, data: bytes, first: FirstMatch) -> Iterator[Span]:
    """Yield the secrets that a rule finds in a text."""
    position = 0
    while match := first(rule, position):
        position = max(match.end(), position + 1)
        spans = [*spans_of_match(rule, data, match)]
        yield from spans
        if not spans and rule.locate is None and match.lastindex is not None:
            start, end = _value(rule, data, match)
            if end - start < _MAX_NESTED_BYTES:
                position = match.start() + 1


def spans_of_match(rule: SecretRule, data: bytes, match: re.Match[bytes]) -> Iterator[Span]:
    """Yield the secrets that a match announces; none if it is text to skip."""
    if rule.locate is not None:
        yield from _located(rule, data, match)
    elif match.lastindex is not None and rule.is_preceded(data, match.start()):
        start, end = _value(rule, data, match)
        if _is_secret(rule, data, start, end):
            yield Span(start, end - data.endswith(b".", start, end), rule.name)


def _value(rule: SecretRule, data: bytes, match: re.Match[bytes]) -> tuple[int, int]:
    start, end = match.span(match.lastindex or 0)
    return start - _prefix_length(rule, data, start), end


def _located(rule: SecretRule, data: bytes, match: re.Match[bytes]) -> Iterator[Span]:
    if rule.locate is None or not rule.is_preceded(data, match.start()):
        return
    for start, end in rule.locate(data, match):
        if _is_secret(rule, data, start, end):
            yield Span(start, end, rule.name)


def _is_secret(rule: SecretRule, data: bytes, start: int, end: int) -> bool:
    if rule.starts_word and _is_within_word(data, start):
        return False
    return rule.plausible(data[start:end].decode("utf-8", "replace"))


def _is_within_word(data: bytes, start: int) -> bool:
    """Return whether a letter or digit precedes `start` that is no part of an escape."""
    ends_with_word = _ENDS_WITH_WORD.search(data[max(0, start - 1) : start]) is not None
    return ends_with_word and escape_before(data, start) == start


def _prefix_length(rule: SecretRule, data: bytes, start: int) -> int:
    """Return the number of bytes before `start` that belong to the secret."""
    if not rule.reversed_prefix:
        return 0
    backwards = data[max(0, start - _MAX_KEY_BYTES) : start][::-1]
    match = rule.compiled_prefix.match(backwards)
    return match.end() if match is not None else 0
