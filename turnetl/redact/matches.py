"""Where rules match in one text.

A short text is searched rule by rule. In a long one that takes a second for 2 MB; there all that
the rules need is searched for at once, and a rule is tried only where something of it stands.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

from turnetl.redact.columns import column
from turnetl.redact.required_literals import needs
from turnetl.redact.rule import SecretRule
from turnetl.redact.search import search_for

LONG = 8 << 10
"""Bytes of a long text: getting ready for one search takes as long as to read so many."""


class Matches(Protocol):
    """What finds the matches in one text."""

    rules: list[SecretRule]
    """Those that may match."""

    def first(self, rule: SecretRule, at: int) -> re.Match[bytes] | None:
        """Return the first match that begins at `at` or behind it."""


def matches(data: bytes, rules: Iterable[SecretRule], long: int = LONG) -> Matches:
    """Return what finds the matches of the rules in a text, which is long from so many bytes on."""
    if len(data) >= long:
        try:
            return _Placed(data, tuple(rules))
        except UnicodeDecodeError:
            # What stands around seams is cut out of its text in the middle of characters.
            pass
    return _Plain(data, rules)


class _Plain:
    def __init__(self, data: bytes, rules: Iterable[SecretRule]) -> None:
        self._data = data
        self.rules = possible(data, rules)

    def first(self, rule: SecretRule, at: int) -> re.Match[bytes] | None:
        return rule.compiled.search(self._data, at)


class _Placed:
    def __init__(self, data: bytes, rules: tuple[SecretRule, ...]) -> None:
        search = search_for(rules)
        self._data = data
        self._places: dict[str, array[int]] = {rule.pattern: array("Q") for rule in rules}
        self._reach: dict[str, int] = {}
        small = data.lower()
        for _, places in search.hits(column([data.decode("utf-8", "surrogatepass")])):
            for place, sought in search.at(small, sorted(places)):
                self._reach[sought.rule.pattern] = sought.reach
                self._places[sought.rule.pattern].append(place)
        self._blind = {rule.pattern for rule in search.blind}
        self.rules = [rule for rule in rules if rule.pattern in self._reach.keys() | self._blind]

    def first(self, rule: SecretRule, at: int) -> re.Match[bytes] | None:
        if rule.pattern in self._blind:
            return rule.compiled.search(self._data, at)
        places, reach = self._places[rule.pattern], self._reach[rule.pattern]
        for number in range(bisect_left(places, at), len(places)):
            place = places[number]
            for start in range(max(at, place - reach), place + 1):
                match = rule.compiled.match(self._data, start)
                if match is not None:
                    return match
        return None


def possible(data: bytes, rules: Iterable[SecretRule]) -> list[SecretRule]:
    """Return the rules that may fit one text, because what they need is in it."""
    small = data.lower()
    return [rule for rule in rules if _has_any(small, _needed(rule.pattern))]


def _has_any(small: bytes, texts: tuple[bytes, ...]) -> bool:
    return not texts or any(map(small.__contains__, texts))


@lru_cache(maxsize=256)
def _needed(pattern: str) -> tuple[bytes, ...]:
    """Return what a pattern needs; nothing if that is nothing to search for."""
    need = needs(pattern.encode())
    return tuple(sorted(text.encode() for text in need.texts)) if need is not None else ()
