"""Secrets that are cut in two: texts that came in blocks were joined by one or two line ends.

A seam is a place where both sides look like halves of a token. What stands around it is looked at
once more with the line ends taken out; what is then found and lies over the seam is a secret.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from turnetl.redact import plausible
from turnetl.redact.prefilter import BETWEEN
from turnetl.redact.rules import SecretRule
from turnetl.redact.spans import Span

_SIGN = r"[A-Za-z0-9_+/=-]"
_HALF = 8
"""Signs of a token on either side: fewer tell nothing to whoever reads them."""
# Begins with a line end itself: what begins with a look behind is tried at every place.
_SEAM = re.compile(rf"\n(?<={_SIGN}{{{_HALF}}}\n)\n?(?={_SIGN}{{{_HALF}}})".encode())
SHAPE = rf"{_SIGN}{{{_HALF}}}\n\n?{_SIGN}{{{_HALF}}}"
"""What a text with a seam has."""
_BEFORE, _BEHIND = 120, 240
"""Bytes that are looked at: the words before a secret stand near, and few tokens are longer."""
_MOST = 5_000
"""Seams of one text: one with more is a list, and no blocks."""
_WRAPPED = 40
"""Signs of a line: two such of one length are two of a list, or of base64 that was wrapped."""
_FIRST = re.compile(rf"{_SIGN}{{1,{_BEHIND}}}".encode())
_NAMES = re.compile(r"[A-Za-z0-9_-]*=[^=]")
_NAMED = (b":", b"(", b"[")
"""What begins like this, or goes on like that, is another line of settings or code."""
_WORD = re.compile(r"[A-Z]?[a-z_/=+-]+|[A-Z_/=+-]+|[0-9_/=+-]+")
"""Such halves can be words or numbers: then only a token that tells its maker is believed."""

Finder = Callable[[bytes, Iterable[SecretRule]], Iterable[Span]]


@dataclass(frozen=True, slots=True)
class _Seam:
    """The line ends between two halves, and whether a half can be a word."""

    start: int
    end: int
    wordy: bool


def over_seams(data: bytes, rules: Iterable[SecretRule], find: Finder) -> Iterator[Span]:
    """Yield what is a secret once the line ends of a seam are taken out, with these line ends.

    Args:
        data: one text.
        rules: ours, all of them.
        find: says what is secret in bytes by some of the rules.
    """
    telling = [rule for rule in rules if rule.starts_a_word]
    seams = list(islice(_seams(data), _MOST))
    for wordy, believed in ((True, telling), (False, rules)):
        yield from _found(data, [seam for seam in seams if seam.wordy is wordy], believed, find)


def _found(
    data: bytes, seams: Sequence[_Seam], rules: Iterable[SecretRule], find: Finder
) -> Iterator[Span]:
    """Look at what stands around all seams at once; yield what lies over one."""
    around = [data[max(0, of.start - _BEFORE) : of.start] for of in seams]
    closed = [
        before + data[of.end : of.end + _BEHIND] for of, before in zip(seams, around, strict=True)
    ]
    ends = list(accumulate(len(text) + len(BETWEEN) for text in closed))
    for start, end, rule in find(BETWEEN.join(closed), rules) if seams else ():
        at = bisect_right(ends, start)
        seam, here = seams[at], ends[at] - len(closed[at]) - len(BETWEEN)
        first = seam.start - len(around[at])
        if start - here < len(around[at]) < end - here <= len(closed[at]):
            yield Span(first + start - here, first + end - here + seam.end - seam.start, rule)


def _seams(data: bytes) -> Iterator[_Seam]:
    for found in _SEAM.finditer(data):
        start, end = found.span()
        before = _FIRST.match(data[max(0, start - _BEFORE) : start][::-1])
        behind = _FIRST.match(data, end)
        if before is None or behind is None or len(before[0]) == len(behind[0]) >= _WRAPPED:
            continue
        left, right = _value(before[0][::-1].decode()), behind[0].decode()
        if (
            len(left) < _HALF
            or _NAMES.match(right)
            or data[behind.end() : behind.end() + 1] in _NAMED
        ):
            continue
        if plausible.random(left + right):
            yield _Seam(start, end, any(_WORD.fullmatch(half) for half in (left, right)))


def _value(half: str) -> str:
    """Return what stands behind a name and its `=`, if there is one."""
    name, _, value = half.partition("=")
    return value if value.strip("=") else name
