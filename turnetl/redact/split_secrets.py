"""Secrets that are split in two, because the content blocks of a text were joined by newlines.

The text around a split is scanned without its newlines; a secret that spans the split is redacted.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from turnetl.redact import plausible
from turnetl.redact.prefilter import SEPARATOR
from turnetl.redact.rules import SecretRule
from turnetl.redact.spans import Span

_CHAR = r"[A-Za-z0-9_+/=-]"
_MIN_HALF = 8
"""Characters of a token on either side: fewer reveal nothing."""
# The pattern starts with the newline: one that starts with a look-behind is tried at each position.
_SPLIT = re.compile(rf"\n(?<={_CHAR}{{{_MIN_HALF}}}\n)\n?(?={_CHAR}{{{_MIN_HALF}}})".encode())
SPLIT_PATTERN = rf"{_CHAR}{{4}}\n\n?{_CHAR}{{{_MIN_HALF}}}"
"""Matches every text with a split, and a few more: it is half as fast with the whole first half."""
_BEFORE, _AFTER = 120, 240
"""Bytes of context: the keyword of a secret is near it, and few tokens are longer."""
_MAX_SPLITS = 5_000
"""Splits of one text: one with more is a list and not joined blocks."""
_WRAPPED_LINE = 40
"""Characters of a line. Two such lines of equal length are entries of a list, or wrapped base64."""
_HALF = re.compile(rf"{_CHAR}{{1,{_AFTER}}}".encode())
_ASSIGNMENT = re.compile(r"[A-Za-z0-9_-]*=[^=]")
_AFTER_NAME = (b":", b"(", b"[")
"""If one of these follows a half, the half is a name on another line of settings or code."""
_WORD = re.compile(r"[A-Z]?[a-z_/=+-]+|[A-Z_/=+-]+|[0-9_/=+-]+")
"""Halves that may be words or numbers. Only a token with a vendor prefix is accepted there."""

FindSpans = Callable[[bytes, Iterable[SecretRule]], Iterable[Span]]


@dataclass(frozen=True, slots=True)
class _Split:
    start: int
    end: int
    may_be_word: bool


def split_secret_spans(
    data: bytes, rules: Iterable[SecretRule], find_spans: FindSpans
) -> Iterator[Span]:
    """Yield the spans of split secrets, with the newlines; `find_spans` scans by given rules."""
    # Two ids in consecutive lines look like one drawn token.
    rules = [rule for rule in rules if rule.may_be_secret is None]
    prefix_rules = [rule for rule in rules if rule.starts_word]
    splits = list(islice(_splits(data), _MAX_SPLITS))
    for may_be_word, accepted in ((True, prefix_rules), (False, rules)):
        selected = [split for split in splits if split.may_be_word is may_be_word]
        yield from _spans(data, selected, accepted, find_spans)


def has_split(data: bytes) -> bool:
    return any(True for _ in _splits(data))


def _spans(
    data: bytes, splits: Sequence[_Split], rules: Iterable[SecretRule], find_spans: FindSpans
) -> Iterator[Span]:
    """Scan the context of all splits in one call; yield the secrets that span a split."""
    before = [data[max(0, split.start - _BEFORE) : split.start] for split in splits]
    contexts = [
        head + data[split.end : split.end + _AFTER]
        for split, head in zip(splits, before, strict=True)
    ]
    ends = list(accumulate(len(context) + len(SEPARATOR) for context in contexts))
    for start, end, rule in find_spans(SEPARATOR.join(contexts), rules) if splits else ():
        index = bisect_right(ends, start)
        split, context_start = splits[index], ends[index] - len(contexts[index]) - len(SEPARATOR)
        first = split.start - len(before[index])
        relative_start, relative_end = start - context_start, end - context_start
        if relative_start < len(before[index]) < relative_end <= len(contexts[index]):
            newlines = split.end - split.start
            yield Span(first + relative_start, first + relative_end + newlines, rule)


def _splits(data: bytes) -> Iterator[_Split]:
    for match in _SPLIT.finditer(data):
        start, end = match.span()
        before = _HALF.match(data[max(0, start - _BEFORE) : start][::-1])
        after = _HALF.match(data, end)
        if before is None or after is None or len(before[0]) == len(after[0]) >= _WRAPPED_LINE:
            continue
        left, right = _value(before[0][::-1].decode()), after[0].decode()
        if (
            len(left) < _MIN_HALF
            or _ASSIGNMENT.match(right)
            or data[after.end() : after.end() + 1] in _AFTER_NAME
        ):
            continue
        if plausible.looks_random(left + right):
            yield _Split(start, end, any(_WORD.fullmatch(half) for half in (left, right)))


def _value(half: str) -> str:
    """Return the value after a name and its `=`, if there is one."""
    name, _, value = half.partition("=")
    return value if value.strip("=") else name
