"""The literal search: one pass over bytes for the required literals of all rules.

Most literals announce nothing. Those are dropped by the heads of the rules that have them.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from turnetl.redact.required_literals import required_literals
from turnetl.redact.rule import SecretRule
from turnetl.redact.rule_heads import HeadMatch, any_head

_PREFIX_BYTES = 2
"""Bytes of the shortest literal."""
_PIECE_BYTES = 1 << 20
"""Bytes of one search: its result takes a hundred bytes for each literal."""

_REMEMBERED = 5_000
"""Places of which the rules are remembered: logs and code repeat their words."""


class RequiredLiteral(NamedTuple):
    """One rule that has a literal."""

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
        self._literals = _by_start(self._by_literal)
        """All literals, by those that start with no other one."""
        self._automaton = _automaton([*self._literals])
        self._overlap = max(map(len, self._literals), default=1) - 1
        """Bytes that the search of a piece reads of the next one."""
        self._found: dict[bytes, list[RequiredLiteral]] = {}
        """The rules by the bytes at a place, as many as the longest literal has."""
        self._heads: dict[int, HeadMatch] = {}
        """By the number of a literal that starts with no other one."""

    def offsets(self, lower: bytes) -> Iterator[int]:
        """Yield in order where lower-case bytes have a literal and the head of a rule with it."""
        if self._automaton is None:
            return
        view, heads = memoryview(lower), self._heads
        for first in range(0, len(lower), _PIECE_BYTES):
            piece = view[first : first + _PIECE_BYTES + self._overlap]
            found = self._automaton.find_matches_as_indexes(piece, overlapping=True)
            # They come in the order of their ends.
            found.sort(key=itemgetter(1))
            for number, start, _ in found:
                head = heads.get(number) or self._head(number)
                if head(lower, first + start) is not None and start < _PIECE_BYTES:
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
        required = required_literals(rule.pattern.encode())
        if required is None:
            return True
        for literal in required.literals:
            self._by_literal.setdefault(literal.encode(), []).append(
                RequiredLiteral(rule, required.max_offset)
            )
        return False

    def _head(self, number: int) -> HeadMatch:
        """Return the match of any head at a literal, compiled when it first occurs."""
        start, literals = [*self._literals.items()][number]
        rules = (required.rule for literal in literals for required in self._by_literal[literal])
        self._heads[number] = any_head(dict.fromkeys(rules), start)
        return self._heads[number]


@lru_cache(maxsize=64)
def literal_search(rules: tuple[SecretRule, ...]) -> LiteralSearch:
    """Return the search for these rules."""
    return LiteralSearch(rules)


def _by_start(literals: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    """Return the literals that start with no other one, each with all that start with it."""
    groups: dict[bytes, list[bytes]] = {}
    for literal in sorted(literals):
        last = next(reversed(groups), None)
        start = last if last is not None and literal.startswith(last) else literal
        groups.setdefault(start, []).append(literal)
    return groups


def _automaton(literals: Sequence[bytes]) -> BytesAhoCorasick | None:
    if not literals:
        return None
    # Twice as fast as the smaller automata; it is built in 4 ms.
    return BytesAhoCorasick(
        literals, matchkind=MatchKind.Standard, implementation=Implementation.DFA
    )
