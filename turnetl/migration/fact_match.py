"""Which new fact says what an old one says: a similar text that shares an entity with it."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from turnetl.llm.vectors import Matrix

_BLOCK = 256
"""Old facts in a block of the comparison: with 100,000 new facts, a block takes 100 MB."""
_TOKEN = re.compile(r"\w[\w.+#-]*\w|\w")


@dataclass(frozen=True, slots=True)
class FactStatement:
    """A fact as it is compared."""

    text: str
    entities: tuple[str, ...]
    """Names of its entities."""


@dataclass(frozen=True, slots=True)
class FactMatch:
    """The new fact that is most similar to an old one."""

    position: int | None
    """Of the new fact; None if there is none."""
    similarity: float
    """Their cosine, at least 0."""
    shares_entity: bool
    """Whether it is the most similar of those that share an entity; else none does."""


def best_matches(
    old: Sequence[FactStatement], new: Sequence[FactStatement], old_rows: Matrix, new_rows: Matrix
) -> list[FactMatch]:
    """Return the best new fact for each old one, in their order.

    New facts that share an entity come first: that is a fact that is about an entity of the same
    name, or whose text names it. Of a path only the last part counts, and case does not.

    Args:
        old: facts.
        new: facts.
        old_rows: the embeddings of their texts.
        new_rows: the same of the new ones.
    """
    if not new:
        return [FactMatch(None, 0.0, shares_entity=False)] * len(old)
    index = EntityIndex(new)
    matches: list[FactMatch] = []
    for start in range(0, len(old), _BLOCK):
        cosines = old_rows[start : start + _BLOCK] @ new_rows.T
        block = zip(old[start : start + _BLOCK], cosines, strict=True)
        matches += [_best(row, index.sharing(fact.entities)) for fact, row in block]
    return matches


def entity_key(name: str) -> str:
    """Return what two names of one entity have in common: without folders and case."""
    stripped = " ".join(name.casefold().replace("\\", "/").split()).rstrip("/")
    return stripped.rpartition("/")[2] or stripped


class EntityIndex:
    """The new facts by the words of their texts and of the names of their entities."""

    def __init__(self, facts: Sequence[FactStatement]) -> None:
        postings: dict[str, list[int]] = defaultdict(list)
        for position, fact in enumerate(facts):
            for word in _words(" ".join((fact.text, *fact.entities))):
                postings[word].append(position)
        self._postings = {word: np.array(places) for word, places in postings.items()}

    def names(self, name: str) -> bool:
        """Return whether one of the facts names the entity."""
        return len(self._naming(name)) > 0

    def sharing(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return the positions of the facts that name one of these entities, ascending."""
        found = [self._naming(name) for name in names]
        return np.unique(np.concatenate(found)) if found else _NONE

    def _naming(self, name: str) -> NDArray[np.int64]:
        """Return the facts with all words of the name."""
        lists = [self._postings.get(word, _NONE) for word in sorted(_words(entity_key(name)))]
        lists.sort(key=len)
        common = lists[0] if lists else _NONE
        for other in lists[1:]:
            common = np.intersect1d(common, other, assume_unique=True)
        return common


_NONE: NDArray[np.int64] = np.array([], dtype=np.int64)


def _best(cosines: Matrix, sharing: NDArray[np.int64]) -> FactMatch:
    shares = len(sharing) > 0
    position = int(sharing[cosines[sharing].argmax()]) if shares else int(cosines.argmax())
    return FactMatch(position, max(0.0, float(cosines[position])), shares_entity=shares)


def _words(text: str) -> set[str]:
    """Return the words of a text; a file name is one word, and its path has several."""
    return set(_TOKEN.findall(text.casefold().replace("\\", "/")))
