"""Which of many texts are worth a closer look: two passes over all of them, none over each."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

import kingfisher_sdk
import polars as pl

from turnetl.redact.rules import RULES, Rule

BETWEEN = b"\n\x1e\n"
"""Between two texts that are looked at as one: no secret has it inside."""
_AT_ONCE = 16 << 20
"""Bytes looked at in one scan, and a text more."""


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


def suspects(
    texts: list[str], encoded: list[bytes], scanner: Scanner, rules: Sequence[Rule] = RULES
) -> dict[int, list[Rule]]:
    """Return the places of the texts worth a closer look, with the rules of ours that say so.

    One scan over the texts for the native rules, one over the column for each of ours; of a large
    archive piece by piece, or it would stand in memory five times.

    Args:
        texts: any.
        encoded: the same as bytes, in the same order.
        scanner: what knows the native rules.
        rules: ours.
    """
    found: dict[int, list[Rule]] = {}
    for first, last in _pieces(encoded):
        piece = encoded[first:last]
        for index, hit in _by_rules(texts[first:last], rules).items():
            found[first + index] = hit
        ends = list(accumulate(len(data) + len(BETWEEN) for data in piece))
        for finding in scanner.scan(BETWEEN.join(piece)):
            location = finding.location
            for index in _touched(ends, location["start_offset"], location["end_offset"]):
                found.setdefault(first + index, [])
    return found


def _pieces(encoded: list[bytes]) -> Iterator[tuple[int, int]]:
    """Yield where runs of texts begin and end that are not much together."""
    first = size = 0
    for last, data in enumerate(encoded, 1):
        size += len(data)
        if size > _AT_ONCE:
            yield first, last
            first, size = last, 0
    yield first, len(encoded)


def _touched(ends: list[int], start: int, end: int) -> range:
    """Return the places of the texts that the bytes from `start` to `end` of the whole lie in."""
    first = bisect_right(ends, start)
    return range(first, min(bisect_right(ends, max(start, end - 1)), len(ends) - 1) + 1)


def _by_rules(texts: list[str], rules: Sequence[Rule]) -> dict[int, list[Rule]]:
    found: dict[int, list[Rule]] = {}
    text = pl.col("text")
    hits = _column(texts).select(
        text.str.contains(rule.pattern).arg_true().implode().alias(str(place))
        for place, rule in enumerate(rules)
    )
    for rule, indices in zip(rules, hits.row(0), strict=True):
        for index in indices:
            found.setdefault(index, []).append(rule)
    return found


def _column(texts: list[str]) -> pl.DataFrame:
    try:
        return pl.DataFrame({"text": texts}, schema={"text": pl.String})
    except UnicodeEncodeError:
        # Half a character cannot stand in a column; what stands beside it must be seen.
        whole = [text.encode("utf-8", "replace").decode() for text in texts]
        return pl.DataFrame({"text": whole}, schema={"text": pl.String})
