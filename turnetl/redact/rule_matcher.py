"""Matches of rules in one text.

A short text is searched rule by rule. That takes a second for 2 MB; a long text is therefore
searched once for the required literals of all rules, and a rule is tried only near its literals.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

from turnetl.redact.literal_search import literal_search
from turnetl.redact.required_literals import required_literals
from turnetl.redact.rule import SecretRule
from turnetl.redact.text_column import text_column

LONG_TEXT_BYTES = 8 << 10
"""Size of a long text: the setup of one search takes as long as reading that many bytes."""


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
    if len(data) >= long_text_bytes:
        try:
            return _LongTextMatcher(data, tuple(rules))
        except UnicodeDecodeError:
            # The context of a split secret may start or end within a character.
            pass
    return _ShortTextMatcher(data, rules)


class _ShortTextMatcher:
    def __init__(self, data: bytes, rules: Iterable[SecretRule]) -> None:
        self._data = data
        self.rules = possible_rules(data, rules)

    def first(self, rule: SecretRule, start: int) -> re.Match[bytes] | None:
        return rule.compiled.search(self._data, start)


class _LongTextMatcher:
    def __init__(self, data: bytes, rules: tuple[SecretRule, ...]) -> None:
        search = literal_search(rules)
        self._data = data
        self._offsets: dict[str, array[int]] = {rule.pattern: array("Q") for rule in rules}
        self._max_offset: dict[str, int] = {}
        lower = data.lower()
        for _, offsets in search.hits(text_column([data.decode("utf-8", "surrogatepass")])):
            for offset, group in search.groups_at(lower, sorted(offsets)):
                self._max_offset[group.rule.pattern] = group.max_offset
                self._offsets[group.rule.pattern].append(offset)
        self._without_literals = {rule.pattern for rule in search.rules_without_literals}
        possible = self._max_offset.keys() | self._without_literals
        self.rules = [rule for rule in rules if rule.pattern in possible]

    def first(self, rule: SecretRule, start: int) -> re.Match[bytes] | None:
        if rule.pattern in self._without_literals:
            return rule.compiled.search(self._data, start)
        offsets, max_offset = self._offsets[rule.pattern], self._max_offset[rule.pattern]
        for index in range(bisect_left(offsets, start), len(offsets)):
            offset = offsets[index]
            for match_start in range(max(start, offset - max_offset), offset + 1):
                match = rule.compiled.match(self._data, match_start)
                if match is not None:
                    return match
        return None


def possible_rules(data: bytes, rules: Iterable[SecretRule]) -> list[SecretRule]:
    """Return the rules that may match a text, because it holds one of their required literals."""
    lower = data.lower()
    return [rule for rule in rules if _holds_any(lower, _literals(rule.pattern))]


def _holds_any(lower: bytes, literals: tuple[bytes, ...]) -> bool:
    return not literals or any(map(lower.__contains__, literals))


@lru_cache(maxsize=256)
def _literals(pattern: str) -> tuple[bytes, ...]:
    """Return the required literals of a pattern; none if there is nothing to search for."""
    required = required_literals(pattern.encode())
    if required is None:
        return ()
    return tuple(sorted(literal.encode() for literal in required.literals))
