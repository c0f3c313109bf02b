"""The search for what rules need: one pass over many texts, or a long one, for all rules."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import polars as pl

from turnetl.redact.required_literals import SIGHT, needs
from turnetl.redact.rule import SecretRule


@dataclass(frozen=True, slots=True)
class Sought:
    """A rule, and what it needs that begins in one way."""

    rule: SecretRule
    texts: tuple[bytes, ...]
    reach: int
    """Bytes that may stand before it in a match."""


@dataclass(frozen=True, slots=True)
class Search:
    """How texts are searched for what any of some rules needs."""

    needs: list[str]
    """What some rules need; no other text of these begins with one of them."""
    by_sight: Mapping[bytes, list[Sought]]
    """These rules, by how what they need begins."""
    blind: list[SecretRule]
    """The other rules, for which nothing can be searched."""

    def hits(self, texts: pl.Series) -> Iterator[tuple[int, list[int]]]:
        """Yield which texts hold something that is needed, and at which of their bytes."""
        if not self.needs:
            return
        found = texts.str.find_many(self.needs, ascii_case_insensitive=True, overlapping=True)
        few = (found.list.len() > 0).arg_true()
        yield from zip(few, found.gather(few).to_list(), strict=True)

    def at(self, small: bytes, places: Iterable[int]) -> Iterator[tuple[int, Sought]]:
        """Yield what is needed at each of the places of a text in small letters."""
        for place in places:
            for sought in self.by_sight[small[place : place + SIGHT]]:
                if small.startswith(sought.texts, place):
                    yield place, sought


@lru_cache(maxsize=64)
def search_for(rules: tuple[SecretRule, ...]) -> Search:
    """Return the search for these rules."""
    by_sight: dict[bytes, list[Sought]] = {}
    texts: set[str] = set()
    blind = []
    for rule in rules:
        need = needs(rule.pattern.encode())
        if need is None:
            blind.append(rule)
            continue
        texts |= need.texts
        wanted = sorted(text.encode() for text in need.texts)
        for sight, of in groupby(wanted, lambda text: text[:SIGHT]):
            by_sight.setdefault(sight, []).append(Sought(rule, tuple(of), need.reach))
    first = [text for text in texts if not any(text[:end] in texts for end in range(len(text)))]
    return Search(sorted(first), by_sight, blind)
