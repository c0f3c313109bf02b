"""The literal search: one pass over texts for the required literals of all rules."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import polars as pl

from turnetl.redact.required_literals import PREFIX_BYTES, required_literals
from turnetl.redact.rule import SecretRule


@dataclass(frozen=True, slots=True)
class LiteralGroup:
    """The required literals of one rule that have the same prefix."""

    rule: SecretRule
    literals: tuple[bytes, ...]
    max_offset: int
    """Maximum number of bytes that precede the literal in a match."""


@dataclass(frozen=True, slots=True)
class LiteralSearch:
    """A search for the required literals of some rules."""

    literals: list[str]
    """Required literals of all rules, without those that start with another one."""
    groups_by_prefix: Mapping[bytes, list[LiteralGroup]]
    rules_without_literals: list[SecretRule]
    """Rules whose matches have no literal to search for."""

    def hits(self, texts: pl.Series) -> Iterator[tuple[int, list[int]]]:
        """Yield the index of each text that holds a literal, and the byte offsets of literals."""
        if not self.literals:
            return
        offsets = texts.str.find_many(self.literals, ascii_case_insensitive=True, overlapping=True)
        indexes = (offsets.list.len() > 0).arg_true()
        yield from zip(indexes, offsets.gather(indexes).to_list(), strict=True)

    def groups_at(self, lower: bytes, offsets: Iterable[int]) -> Iterator[tuple[int, LiteralGroup]]:
        """Yield the literal groups at each offset of a lower-case text."""
        for offset in offsets:
            for group in self.groups_by_prefix[lower[offset : offset + PREFIX_BYTES]]:
                if lower.startswith(group.literals, offset):
                    yield offset, group


@lru_cache(maxsize=64)
def literal_search(rules: tuple[SecretRule, ...]) -> LiteralSearch:
    """Return the search for these rules."""
    by_prefix: dict[bytes, list[LiteralGroup]] = {}
    literals: set[str] = set()
    without_literals = []
    for rule in rules:
        required = required_literals(rule.pattern.encode())
        if required is None:
            without_literals.append(rule)
            continue
        literals |= required.literals
        encoded = sorted(literal.encode() for literal in required.literals)
        for prefix, group in groupby(encoded, lambda literal: literal[:PREFIX_BYTES]):
            by_prefix.setdefault(prefix, []).append(
                LiteralGroup(rule, tuple(group), required.max_offset)
            )
    shortest = [
        literal
        for literal in literals
        if not any(literal[:end] in literals for end in range(len(literal)))
    ]
    return LiteralSearch(sorted(shortest), by_prefix, without_literals)
