"""Matches of rules in one text.

A rule is tried only near its required literals. A short text is searched for each of them, a long
text once for the literals of all rules.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import chain
from typing import Protocol

from turnetl.redact.literal_search import literal_search
from turnetl.redact.required_literals import required_literals
from turnetl.redact.rule import SecretRule
from turnetl.redact.text_column import text_column

LONG_TEXT_BYTES = 8 << 10
"""Size of a long text: the setup of one search takes as long as reading that many bytes."""
_FEW_RULES = 30
"""Rules that are tried without a search for the literals of all."""
_MAX_SLICED = 2 << 10
"""Bytes of a text of which all parts are looked up: a search for each literal takes longer."""
_LONGER_WITH_FEW_RULES = 16
"""By how much a text must be longer for one search to be faster, if there are few rules."""
_SHORT_BYTES = 4
"""Bytes of a literal that are searched for in a short text: many literals share them."""


class RuleMatcher(Protocol):
    """Finds the matches of rules in one text."""

    rules: list[SecretRule]
    """The rules that may match."""

    def first(self, rule: SecretRule, start: int) -> re.Match[bytes] | None:
        """Return the first match that starts at `start` or after it."""


def rule_matcher(
    data: bytes, rules: Iterable[SecretRule], long_text_bytes: int = LONG_TEXT_BYTES
) -> RuleMatcher:
    """Return a matcher for a text; `long_text_bytes` is the size from which the text is long."""
    rules = tuple(rules)
    few = len(rules) <= _FEW_RULES
    if len(data) >= long_text_bytes * (_LONGER_WITH_FEW_RULES if few else 1):
        try:
            return _LongTextMatcher(data, rules)
        except UnicodeDecodeError:
            # The context of a split secret may start or end within a character.
            pass
    return _ShortTextMatcher(data, rules if few else possible_rules(data, rules))


class _Matcher:
    """Tries a rule only near the places of its literals in the text."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.rules: list[SecretRule] = []

    def first(self, rule: SecretRule, start: int) -> re.Match[bytes] | None:
        required = required_literals(rule.pattern.encode())
        if required is None:
            return rule.compiled.search(self._data, start)
        offsets = self._offsets(rule)
        for index in range(bisect_left(offsets, start), len(offsets)):
            offset = offsets[index]
            for match_start in range(max(start, offset - required.max_offset), offset + 1):
                match = rule.compiled.match(self._data, match_start)
                if match is not None:
                    return match
        return None

    def _offsets(self, rule: SecretRule) -> Sequence[int]:
        """Return the places of the literals of a rule, in order."""
        raise NotImplementedError


class _ShortTextMatcher(_Matcher):
    def __init__(self, data: bytes, rules: Iterable[SecretRule]) -> None:
        super().__init__(data)
        self._lower = data.lower()
        self._offsets_by_pattern: dict[str, list[int]] = {}
        self._places_by_literal: dict[bytes, list[int]] = {}
        self.rules = [*rules]

    def _offsets(self, rule: SecretRule) -> Sequence[int]:
        if rule.pattern not in self._offsets_by_pattern:
            literals = _literals(rule.pattern) or ()
            places = {*chain.from_iterable(map(self._places, literals))}
            self._offsets_by_pattern[rule.pattern] = sorted(places)
        return self._offsets_by_pattern[rule.pattern]

    def _places(self, literal: bytes) -> list[int]:
        """Return the places of a literal, which many rules share."""
        places = self._places_by_literal.get(literal)
        if places is None:
            places = self._places_by_literal[literal] = []
            place = self._lower.find(literal)
            while place >= 0:
                places.append(place)
                place = self._lower.find(literal, place + 1)
        return places


class _LongTextMatcher(_Matcher):
    def __init__(self, data: bytes, rules: tuple[SecretRule, ...]) -> None:
        super().__init__(data)
        search = literal_search(rules)
        self._offsets_by_pattern: dict[str, array[int]] = {
            rule.pattern: array("Q") for rule in rules
        }
        lower = data.lower()
        for _, offsets in search.hits(text_column([data.decode("utf-8", "surrogatepass")])):
            for offset, required in search.at(lower, sorted(offsets)):
                self._offsets_by_pattern[required.rule.pattern].append(offset)
        without_literals = {rule.pattern for rule in search.rules_without_literals}
        self.rules = [
            rule
            for rule in rules
            if rule.pattern in without_literals or self._offsets_by_pattern[rule.pattern]
        ]

    def _offsets(self, rule: SecretRule) -> Sequence[int]:
        return self._offsets_by_pattern[rule.pattern]


def possible_rules(data: bytes, rules: Iterable[SecretRule]) -> list[SecretRule]:
    """Return the rules that may match a text, because it holds one of their required literals."""
    rules = tuple(rules)
    present = _present(_all_literals(rules), data.lower())
    return [
        rule
        for rule in rules
        if (literals := _literals(rule.pattern)) is None or not literals.isdisjoint(present)
    ]


def _present(literals: frozenset[bytes], lower: bytes) -> AbstractSet[bytes]:
    """Return the literals that are in a lower-case text."""
    if len(lower) > _MAX_SLICED:
        return {literal for literal in literals if literal in lower}
    return literals.intersection(
        lower[start : start + length]
        for length in _lengths(literals)
        for start in range(len(lower) - length + 1)
    )


@lru_cache(maxsize=256)
def _lengths(literals: frozenset[bytes]) -> frozenset[int]:
    return frozenset(map(len, literals))


@lru_cache(maxsize=256)
def _all_literals(rules: tuple[SecretRule, ...]) -> frozenset[bytes]:
    """Return the required literals of all rules: many rules share them."""
    return frozenset().union(*(_literals(rule.pattern) or () for rule in rules))


@lru_cache(maxsize=512)
def _literals(pattern: str) -> frozenset[bytes] | None:
    """Return the first bytes of the required literals of a pattern; None if it has none."""
    required = required_literals(pattern.encode())
    if required is None:
        return None
    return frozenset(literal.encode()[:_SHORT_BYTES] for literal in required.literals)
