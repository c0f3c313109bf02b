"""Which of many texts are worth a closer look: two passes over all of them, none over each.

Texts that are equal are looked at once: every turn says anew which folder it is in.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, groupby

import kingfisher_sdk
import polars as pl

from turnetl.redact.needs import SIGHT, needs
from turnetl.redact.rules import RULES, Rule
from turnetl.redact.spans import occurrences

BETWEEN = b"\n\x1e\n"
"""Between two texts that are looked at as one: no secret has it inside."""
_AT_ONCE = 16 << 20
"""Characters looked at in one scan, and a text more."""
_SEEN = 8192
"""Bytes behind a place that a pattern is tried on: what reaches farther is a suspect as well, and a
text that is one long run must not be read to its end from each of its places."""
_HALF = re.compile("[\ud800-\udfff]")
_THREE_BYTES = "\ufffd"


class Scanner:
    """The native scanner; its rules are loaded at the first text."""

    def __init__(self) -> None:
        self._native: kingfisher_sdk.Scanner | None = None

    def scan(self, data: bytes) -> list[kingfisher_sdk.Finding]:
        """Return what it finds, by place."""
        if not data:
            return []
        if self._native is None:
            self._native = kingfisher_sdk.Scanner(kingfisher_sdk.Rules())
        return self._native.scan(data)


@dataclass(frozen=True, slots=True)
class _Sought:
    """A rule, and what it needs that begins in one way."""

    rule: Rule
    texts: tuple[bytes, ...]
    reach: int
    """Bytes that may stand before it in a match."""

    def fits(self, data: bytes, place: int) -> bool:
        match = self.rule.compiled.match
        end = place + _SEEN
        if not self.reach:
            return match(data, place, end) is not None
        starts = range(place, max(place - self.reach, 0) - 1, -1)
        return any(match(data, start, end) for start in starts)


@dataclass(frozen=True, slots=True)
class _Search:
    """How texts are searched for what fits any of some rules."""

    needs: list[str]
    """What some rules need; no other text of these begins with one of them."""
    by_sight: Mapping[bytes, list[_Sought]]
    """These rules, by how what they need begins."""
    blind: list[str]
    """The patterns of the other rules, for which nothing can be searched."""


def suspects(
    texts: Sequence[str], scanner: Scanner, rules: Sequence[Rule] = RULES
) -> dict[int, list[Rule]]:
    """Return the places of the texts worth a closer look, with the rules of ours that say so.

    One scan over the texts for the native rules, one over the column for what ours need; of a large
    archive piece by piece, or it would stand in memory five times.

    Args:
        texts: any.
        scanner: what knows the native rules.
        rules: ours.
    """
    found: dict[str, list[Rule]] = {}
    for piece in _pieces(list(dict.fromkeys(texts))):
        found |= _by_rules(piece, tuple(rules))
        for text in _by_scanner(piece, scanner):
            found.setdefault(text, [])
    if not found:
        return {}
    return {at: [*found[text]] for at, text in enumerate(texts) if text in found}


def possible(data: bytes, rules: Iterable[Rule]) -> list[Rule]:
    """Return the rules that may fit one text, because what they need is in it."""
    small = data.lower()
    return [rule for rule in rules if _has_any(small, _needed(rule.pattern))]


def _has_any(small: bytes, texts: tuple[bytes, ...]) -> bool:
    return not texts or any(text in small for text in texts)


@lru_cache(maxsize=256)
def _needed(pattern: str) -> tuple[bytes, ...]:
    """Return what a pattern needs; nothing if that is nothing to search for."""
    need = needs(pattern.encode())
    return tuple(sorted(text.encode() for text in need.texts)) if need is not None else ()


def holding(encoded: list[bytes], secrets: Iterable[bytes]) -> list[int]:
    """Return the places of the texts that hold a secret, in order; no secret is empty."""
    secrets = list(secrets)
    whole = BETWEEN.join(encoded) if secrets else b""
    ends = _ends(map(len, encoded)) if any(secret in whole for secret in secrets) else []
    return sorted(
        {
            place
            for secret in secrets
            for start, end, _ in occurrences(whole, {secret: ""})
            for place in _touched(ends, start, end)
        }
    )


def _pieces(texts: list[str]) -> Iterator[list[str]]:
    """Yield runs of texts that are not much together."""
    first = size = 0
    for last, text in enumerate(texts, 1):
        size += len(text)
        if size > _AT_ONCE:
            yield texts[first:last]
            first, size = last, 0
    yield texts[first:]


def _by_scanner(texts: list[str], scanner: Scanner) -> Iterator[str]:
    """Yield the texts in which the native scanner finds something."""
    found = scanner.scan(_bytes(BETWEEN.decode().join(texts)))
    if not found:
        return
    ends = _ends(len(_bytes(text)) for text in texts)
    for finding in found:
        place = finding.location
        for at in _touched(ends, place["start_offset"], place["end_offset"]):
            yield texts[at]


def _ends(sizes: Iterable[int]) -> list[int]:
    """Return where each text of a size, and what stands behind it, ends in the whole."""
    return list(accumulate(size + len(BETWEEN) for size in sizes))


def _touched(ends: list[int], start: int, end: int) -> range:
    """Return the places of the texts that the bytes from `start` to `end` of the whole lie in."""
    first = bisect_right(ends, start)
    return range(first, min(bisect_right(ends, max(start, end - 1)), len(ends) - 1) + 1)


def _by_rules(texts: list[str], rules: tuple[Rule, ...]) -> dict[str, list[Rule]]:
    """Return the texts that rules fit, with these rules in their order.

    A pattern is tried only where something stands that it needs: that is nowhere in most texts.
    """
    search = _search(rules)
    column = _column(texts)
    found: dict[str, set[str]] = {}
    hits = column.str.find_many(search.needs, ascii_case_insensitive=True, overlapping=True)
    few = (hits.list.len() > 0).arg_true()
    for at, places in zip(few, hits.gather(few).to_list(), strict=True):
        fitting = set(_fitting(_bytes(texts[at]), places, search.by_sight))
        if fitting:
            found[texts[at]] = fitting
    for pattern in search.blind:
        for at in column.str.contains(pattern).arg_true():
            found.setdefault(texts[at], set()).add(pattern)
    return {text: [rule for rule in rules if rule.pattern in found[text]] for text in found}


def _fitting(
    data: bytes, places: Iterable[int], by_sight: Mapping[bytes, Sequence[_Sought]]
) -> Iterator[str]:
    """Yield the patterns that fit where something stands that they need."""
    small = data.lower()
    fitted = set()
    for place in places:
        for sought in by_sight[small[place : place + SIGHT]]:
            pattern = sought.rule.pattern
            if pattern in fitted or not small.startswith(sought.texts, place):
                continue
            if sought.fits(data, place):
                fitted.add(pattern)
                yield pattern


@lru_cache(maxsize=4)
def _search(rules: tuple[Rule, ...]) -> _Search:
    by_sight: dict[bytes, list[_Sought]] = {}
    texts: set[str] = set()
    blind = []
    for rule in rules:
        need = needs(rule.pattern.encode())
        if need is None:
            blind.append(rule.pattern)
            continue
        texts |= need.texts
        wanted = sorted(text.encode() for text in need.texts)
        for sight, of in groupby(wanted, lambda text: text[:SIGHT]):
            by_sight.setdefault(sight, []).append(_Sought(rule, tuple(of), need.reach))
    first = [text for text in texts if not any(text[:end] in texts for end in range(len(text)))]
    return _Search(sorted(first), by_sight, blind)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _column(texts: list[str]) -> pl.Series:
    """Return the texts; what stands for half a character has as many bytes as that."""
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series([_HALF.sub(_THREE_BYTES, text) for text in texts], dtype=pl.String)
