"""Which of many texts are worth a closer look: two passes over all of them, none over each.

Texts that are equal are looked at once: every turn says anew which folder it is in.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import polars as pl

from turnetl.redact.columns import column
from turnetl.redact.exact_match import Known
from turnetl.redact.rules import RULES, SecretRule
from turnetl.redact.scanner import Scanner
from turnetl.redact.search import Search, Sought, search_for

BETWEEN = b"\n\x1e\n"
"""Between two texts that are looked at as one: no secret has it inside."""
_AT_ONCE = 16 << 20
"""Characters looked at in one scan, and a text more."""
_SEEN = 8192
"""Bytes behind a place that a pattern is tried on: what reaches farther is a suspect as well, and a
text that is one long run must not be read to its end from each of its places."""


def suspects(
    texts: Sequence[str],
    scanner: Scanner,
    rules: Sequence[SecretRule] = RULES,
    shapes: Sequence[str] = (),
) -> dict[int, list[SecretRule]]:
    """Return the places of the texts worth a closer look, with the rules of ours that say so.

    One scan over the texts for the native rules, one over the column for what ours need; of a large
    archive piece by piece, or it would stand in memory five times.

    Args:
        texts: any.
        scanner: what knows the native rules.
        rules: ours.
        shapes: patterns that begin with no text to search for; what one fits is worth a look, too.
    """
    found: dict[str, list[SecretRule]] = {}
    for piece in _pieces(list(dict.fromkeys(texts))):
        made = column(piece)
        found |= _by_rules(piece, made, tuple(rules))
        for text in chain(_by_scanner(piece, made, scanner), _by_shapes(piece, made, shapes)):
            found.setdefault(text, [])
    if not found:
        return {}
    return {at: [*found[text]] for at, text in enumerate(texts) if text in found}


def holding(texts: Sequence[str], known: Known) -> list[int]:
    """Return the places of the texts that hold a known secret, in order."""
    spans = list(known.spans(_together(texts)))
    ends = _ends(column(texts)) if spans else []
    return sorted({place for span in spans for place in _touched(ends, span.start, span.end)})


def _pieces(texts: list[str]) -> Iterator[list[str]]:
    """Yield runs of texts that are not much together."""
    first = size = 0
    for last, text in enumerate(texts, 1):
        size += len(text)
        if size > _AT_ONCE:
            yield texts[first:last]
            first, size = last, 0
    yield texts[first:]


def _by_shapes(texts: list[str], made: pl.Series, shapes: Sequence[str]) -> Iterator[str]:
    for shape in shapes:
        for at in made.str.contains(shape).arg_true():
            yield texts[at]


def _by_scanner(texts: list[str], made: pl.Series, scanner: Scanner) -> Iterator[str]:
    """Yield the texts in which the native scanner finds something."""
    found = [*scanner.scan(_together(texts))]
    ends = _ends(made) if found else []
    for at in {at for one in found for at in _touched(ends, one.start, one.end)}:
        yield texts[at]


def _together(texts: Sequence[str]) -> bytes:
    return _bytes(BETWEEN.decode().join(texts))


def _ends(texts: pl.Series) -> list[int]:
    """Return where each of the texts, and what stands behind it, ends in the whole of them."""
    sizes = texts.str.len_bytes().cast(pl.UInt64)
    return (sizes + len(BETWEEN)).cum_sum().to_list()


def _touched(ends: list[int], start: int, end: int) -> range:
    """Return the places of the texts that the bytes from `start` to `end` of the whole lie in."""
    first = bisect_right(ends, start)
    return range(first, min(bisect_right(ends, max(start, end - 1)), len(ends) - 1) + 1)


def _by_rules(
    texts: list[str], made: pl.Series, rules: tuple[SecretRule, ...]
) -> dict[str, list[SecretRule]]:
    """Return the texts that rules fit, with these rules in their order.

    A pattern is tried only where something stands that it needs: that is nowhere in most texts.
    """
    search = search_for(rules)
    found: dict[str, set[str]] = {}
    for at, places in search.hits(made):
        fitting = set(_fitting(_bytes(texts[at]), places, search))
        if fitting:
            found[texts[at]] = fitting
    for rule in search.blind:
        for at in made.str.contains(rule.pattern).arg_true():
            found.setdefault(texts[at], set()).add(rule.pattern)
    return {text: [rule for rule in rules if rule.pattern in found[text]] for text in found}


def _fitting(data: bytes, places: Iterable[int], search: Search) -> Iterator[str]:
    """Yield the patterns that fit where something stands that they need."""
    fitted = set()
    for place, sought in search.at(data.lower(), places):
        pattern = sought.rule.pattern
        if pattern not in fitted and _fits(sought, data, place):
            fitted.add(pattern)
            yield pattern


def _fits(sought: Sought, data: bytes, place: int) -> bool:
    match = sought.rule.compiled.match
    end = place + _SEEN
    if not sought.reach:
        return match(data, place, end) is not None
    starts = range(place, max(place - sought.reach, 0) - 1, -1)
    return any(match(data, start, end) for start in starts)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
