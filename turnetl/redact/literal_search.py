"""One pass over bytes for the required literals of all rules; a rule is tried only near its own."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from turnetl.redact.known_literals import literals_of
from turnetl.redact.rule import SecretRule

_PREFIX_BYTES = 2
"""Bytes of the shortest literal."""
_PIECE_BYTES = 1 << 20
"""Bytes of one search: its result takes a hundred bytes for each literal."""

_REMEMBERED = 5_000
"""Places of which the rules are remembered: logs and code repeat their words."""


class RequiredLiteral(NamedTuple):
    rule: SecretRule
    max_offset: int
    """Maximum number of bytes that precede the literal in a match."""


class LiteralSearch:
    """A search for the required literals of some rules."""

    def __init__(self, rules: Sequence[SecretRule]) -> None:
        self._by_literal: dict[bytes, list[RequiredLiteral]] = {}
        self.rules_without_literals = [*filter(self._has_no_literal, rules)]
        """Rules whose matches have no literal to search for."""
        self._lengths: dict[bytes, list[int]] = {}
        """Bytes of the literals, by their first bytes."""
        starts = {(literal[:_PREFIX_BYTES], len(literal)) for literal in self._by_literal}
        for start, length in sorted(starts):
            self._lengths.setdefault(start, []).append(length)
        self._automaton = _automaton(_starts(self._by_literal))
        self._overlap = max(map(len, self._by_literal), default=1) - 1
        """Bytes that the search of a piece reads of the next one."""
        self._found: dict[bytes, list[RequiredLiteral]] = {}
        """The rules by the bytes at a place, as many as the longest literal has."""

    def offsets(self, lower: bytes) -> Iterator[int]:
        """Yield in order where lower-case bytes have a literal."""
        if self._automaton is None:
            return
        view = memoryview(lower)
        for first in range(0, len(lower), _PIECE_BYTES):
            piece = view[first : first + _PIECE_BYTES + self._overlap]
            found = self._automaton.find_matches_as_indexes(piece, overlapping=True)
            # They come in the order of their ends.
            found.sort(key=itemgetter(1))
            for _, start, _ in found:
                if start < _PIECE_BYTES:
                    yield first + start

    def at(self, lower: bytes, offset: int) -> list[RequiredLiteral]:
        """Return the rules that have a literal at an offset of lower-case bytes."""
        following = lower[offset : offset + self._overlap + 1]
        found = self._found.get(following)
        if found is None:
            if len(self._found) >= _REMEMBERED:
                self._found.clear()
            found = self._found[following] = self._at(lower, offset)
        return found

    def _at(self, lower: bytes, offset: int) -> list[RequiredLiteral]:
        found: list[RequiredLiteral] = []
        for length in self._lengths.get(lower[offset : offset + _PREFIX_BYTES], ()):
            if literal := self._by_literal.get(lower[offset : offset + length]):
                found += literal
        return found

    def _has_no_literal(self, rule: SecretRule) -> bool:
        """Record the literals of a rule; return whether it has none."""
        required = literals_of(rule)
        if required is None:
            return True
        for literal in required.literals:
            self._by_literal.setdefault(literal.encode(), []).append(
                RequiredLiteral(rule, required.max_offset)
            )
        return False


@lru_cache(maxsize=64)
def literal_search(rules: tuple[SecretRule, ...]) -> LiteralSearch:
    return LiteralSearch(rules)


def _starts(literals: Iterable[bytes]) -> list[bytes]:
    """Return the literals that start with no other one."""
    starts: list[bytes] = []
    for literal in sorted(literals):
        if not starts or not literal.startswith(starts[-1]):
            starts.append(literal)
    return starts


def _automaton(literals: Sequence[bytes]) -> BytesAhoCorasick | None:
    if not literals:
        return None
    # Twice as fast as the smaller automata; it is built in 4 ms.
    return BytesAhoCorasick(
        literals, matchkind=MatchKind.Standard, implementation=Implementation.DFA
    )


class RuleMatcher:
    """Finds the matches of rules in one text, which is searched once for the literals of all."""

    def __init__(self, data: bytes, rules: Iterable[SecretRule], search: LiteralSearch) -> None:
        """Search the text for `rules`, which are some of those of the search."""
        self._data = data
        self._offsets: dict[str, array[int]] = {}
        self._max_offsets: dict[str, int] = {}
        rules = [*rules]
        patterns = {rule.pattern for rule in rules}
        lower = data.lower()
        for offset in search.offsets(lower) if rules else ():
            for rule, max_offset in search.at(lower, offset):
                offsets = self._offsets.get(rule.pattern)
                if offsets is not None:
                    offsets.append(offset)
                elif rule.pattern in patterns:
                    self._offsets[rule.pattern] = array("Q", (offset,))
                    self._max_offsets[rule.pattern] = max_offset
        possible = {rule.pattern for rule in search.rules_without_literals} | self._offsets.keys()
        self.rules = [rule for rule in rules if rule.pattern in possible]
        """The rules that may match."""

    def first(self, rule: SecretRule, start: int) -> re.Match[bytes] | None:
        """Return the first match that starts at `start` or after it."""
        offsets = self._offsets.get(rule.pattern)
        if offsets is None:
            return rule.compiled.search(self._data, start)
        max_offset = self._max_offsets[rule.pattern]
        for index in range(bisect_left(offsets, start), len(offsets)):
            offset = offsets[index]
            for match_start in range(max(start, offset - max_offset), offset + 1):
                match = rule.compiled.match(self._data, match_start)
                if match is not None:
                    return match
        return None
