"""One pass over bytes for the required literals of all rules; a rule is tried only near its own."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from turnetl.redact.known_literals import literals_of
from turnetl.redact.normalised import escape_before
from turnetl.redact.rule import SecretRule
from turnetl.redact.spans import Span

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
    def __init__(self, rules: Sequence[SecretRule]) -> None:
        self._by_literal: dict[bytes, list[RequiredLiteral]] = {}
        self.rules_without_literals = [*filter(self._has_no_literal, rules)]
        """Rules whose matches have no literal to search for."""
        self._lengths: dict[bytes, list[int]] = {}
        """Bytes of the literals, by their first bytes."""
        starts = {(literal[:_PREFIX_BYTES], len(literal)) for literal in self._by_literal}
        for start, length in sorted(starts):
            self._lengths.setdefault(start, []).append(length)
        # Twice as fast as the smaller automata; it is built in 4 ms.
        self._automaton = BytesAhoCorasick(
            _starts(self._by_literal), implementation=Implementation.DFA
        )
        self._overlap = max(map(len, self._by_literal), default=1) - 1
        """Bytes that the search of a piece reads of the next one."""
        self._found: dict[bytes, list[RequiredLiteral]] = {}
        """The rules by the bytes at a place, as many as the longest literal has."""

    def offsets(self, lower: bytes) -> Iterator[int]:
        """Yield in order where lower-case bytes have a literal."""
        return map(itemgetter(1), literal_places(self._automaton, lower, self._overlap))

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
    starts: list[bytes] = []
    for literal in sorted(literals):
        if not starts or not literal.startswith(starts[-1]):
            starts.append(literal)
    return starts


def literal_places(
    automaton: BytesAhoCorasick, data: bytes, overlap: int
) -> Iterator[tuple[int, int, int]]:
    """Yield the index and the place of each literal, in the order of their starts.

    `overlap`: bytes that the search of a piece reads of the next one, for the longest literal.
    """
    view = memoryview(data)
    for first in range(0, len(data), _PIECE_BYTES):
        piece = view[first : first + _PIECE_BYTES + overlap]
        found = automaton.find_matches_as_indexes(piece, overlapping=True)
        # They come in the order of their ends.
        found.sort(key=itemgetter(1))
        for index, start, end in found:
            if start < _PIECE_BYTES:
                yield index, first + start, first + end


class ExactMatcher:
    """Finds known secrets, each with the rule that found it first."""

    def __init__(self, secrets: Mapping[bytes, str]) -> None:
        literals = [*filter(None, secrets)]
        self._rules = [secrets[literal] for literal in literals]
        self._automaton = BytesAhoCorasick(literals)
        self._overlap = max(map(len, literals), default=1) - 1

    def spans(self, data: bytes) -> Iterator[Span]:
        """Yield the place of each secret, also of those that overlap."""
        for index, start, end in literal_places(self._automaton, data, self._overlap):
            yield Span(start, end, self._rules[index])


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


_MAX_KEY_BYTES = 16_384
"""Bytes matched backwards from the end of a key. OpenSSL accepts RSA keys of up to 16,384 bits:
12.6 kB as PEM. The rest allows for line numbers and quotes between its lines."""
_MAX_NESTED_BYTES = 200
"""Bytes of an implausible match. Another match may start within a match of up to this size."""
_ENDS_WITH_WORD = re.compile(rb"[A-Za-z0-9]\Z")


FirstMatch = Callable[[SecretRule, int], re.Match[bytes] | None]
"""Returns the first match of a rule that starts at an offset or after it."""


def spans_of_rule(rule: SecretRule, data: bytes, first: FirstMatch) -> Iterator[Span]:
    position = 0
    while match := first(rule, position):
        position = max(match.end(), position + 1)
        spans = [*spans_of_match(rule, data, match)]
        yield from spans
        if not spans and rule.locate is None and match.lastindex is not None:
            start, end = _value(rule, data, match)
            if end - start < _MAX_NESTED_BYTES:
                position = match.start() + 1


def spans_of_match(rule: SecretRule, data: bytes, match: re.Match[bytes]) -> Iterator[Span]:
    """Yield the secrets that a match announces; none if it is text to skip."""
    if not rule.is_preceded(data, match.start()):
        return
    if rule.locate is not None:
        for start, end in rule.locate(data, match):
            if _is_secret(rule, data, start, end):
                yield Span(start, end, rule.name)
    elif match.lastindex is not None:
        start, end = _value(rule, data, match)
        if _is_secret(rule, data, start, end):
            yield Span(start, end - data.endswith(b".", start, end), rule.name)


def _value(rule: SecretRule, data: bytes, match: re.Match[bytes]) -> tuple[int, int]:
    start, end = match.span(match.lastindex or 0)
    return start - _prefix_length(rule, data, start), end


def _is_secret(rule: SecretRule, data: bytes, start: int, end: int) -> bool:
    if rule.starts_word and _is_within_word(data, start):
        return False
    return rule.plausible(data[start:end].decode("utf-8", "replace"))


def _is_within_word(data: bytes, start: int) -> bool:
    ends_with_word = _ENDS_WITH_WORD.search(data[max(0, start - 1) : start]) is not None
    return ends_with_word and escape_before(data, start) == start


def _prefix_length(rule: SecretRule, data: bytes, start: int) -> int:
    """Return the number of bytes before `start` that belong to the secret."""
    if not rule.reversed_prefix:
        return 0
    backwards = data[max(0, start - _MAX_KEY_BYTES) : start][::-1]
    match = rule.compiled_prefix.match(backwards)
    return match.end() if match is not None else 0
