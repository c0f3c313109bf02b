"""The literal search: one pass over texts for the required literals of all rules."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from turnetl.redact.required_literals import required_literals
from turnetl.redact.rule import SecretRule

_PREFIX_BYTES = 2
"""Bytes of the shortest literal."""


class RequiredLiteral(NamedTuple):
    """One rule that has a literal."""

    rule: SecretRule
    max_offset: int
    """Maximum number of bytes that precede the literal in a match."""


@dataclass(frozen=True, slots=True)
class LiteralSearch:
    """A search for the required literals of some rules."""

    literals: list[str]
    """Required literals of all rules, without those that start with another one."""
    by_literal: Mapping[bytes, list[RequiredLiteral]]
    lengths: Mapping[bytes, Sequence[int]]
    """Bytes of the literals, by their first bytes."""
    rules_without_literals: list[SecretRule]
    """Rules whose matches have no literal to search for."""

    def hits(self, texts: pl.Series) -> Iterator[tuple[int, list[int]]]:
        """Yield the index of each text that holds a literal, and the byte offsets of literals."""
        if not self.literals:
            return
        offsets = texts.str.find_many(self.literals, ascii_case_insensitive=True, overlapping=True)
        indexes = (offsets.list.len() > 0).arg_true()
        yield from zip(indexes, offsets.gather(indexes).to_list(), strict=True)

    def at(self, lower: bytes, offsets: Iterable[int]) -> Iterator[tuple[int, RequiredLiteral]]:
        """Yield the rules that have a literal at each offset of a lower-case text."""
        for offset in offsets:
            for length in self.lengths.get(lower[offset : offset + _PREFIX_BYTES], ()):
                for required in self.by_literal.get(lower[offset : offset + length], ()):
                    yield offset, required


@lru_cache(maxsize=64)
def literal_search(rules: tuple[SecretRule, ...]) -> LiteralSearch:
    """Return the search for these rules."""
    by_literal: dict[bytes, list[RequiredLiteral]] = {}
    without_literals = []
    for rule in rules:
        required = required_literals(rule.pattern.encode())
        if required is None:
            without_literals.append(rule)
            continue
        for literal in required.literals:
            by_literal.setdefault(literal.encode(), []).append(
                RequiredLiteral(rule, required.max_offset)
            )
    literals = {literal.decode() for literal in by_literal}
    shortest = [
        literal
        for literal in literals
        if not any(literal[:end] in literals for end in range(len(literal)))
    ]
    lengths: dict[bytes, list[int]] = {}
    for prefix, length in sorted({(text[:_PREFIX_BYTES], len(text)) for text in by_literal}):
        lengths.setdefault(prefix, []).append(length)
    return LiteralSearch(sorted(shortest), by_literal, lengths, without_literals)
