"""The active facts of an entity: those that were not invalidated, each statement once.

A statement that several turns repeat is one statement: it is no news the second time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from turnetl.base import ids
from turnetl.base.model import Fact, Vector
from turnetl.llm.vectors import pack, unpack

_HASH_MODULUS = 1 << 128
_FRACTION_BITS = 24
"""Vectors are added as integers, whose sum does not depend on the order. A float32 of a unit vector
has no more significant bits."""


@dataclass(frozen=True, slots=True)
class ActiveFacts:
    """The active facts of an entity at one time."""

    count: int
    """Different statements."""
    hash: str
    """32 hex digits that depend on the statements alone: not on their order, uuids or times."""
    embedding: Vector | None
    """The mean of the embeddings, of unit length. None without a statement that has one, and if
    their dimensions differ."""
    embedder: str | None = None
    """Digest of the name of what made the embeddings; None if it is not known."""


class ActiveFactSet:
    """The active facts of one entity, changed fact by fact.

    The cost of a change does not depend on the number of facts, and the result does not depend on
    the order of the changes.
    """

    def __init__(self, facts: Iterable[Fact] = (), embedder: str | None = None) -> None:
        self._embedder = embedder
        self._facts: dict[str, tuple[bytes, Vector | None]] = {}
        # By digest of the statement: how many facts make it, and how many with each vector.
        self._uses: dict[bytes, int] = {}
        self._vectors: dict[bytes, dict[Vector, int]] = {}
        self._hash = 0
        self._sums: dict[int, _VectorSum] = {}
        self._now: ActiveFacts | None = None
        for fact in facts:
            self.put(fact)

    def put(self, fact: Fact) -> None:
        """Add a fact, or replace it by its new state. An invalidated fact is not active."""
        counted = None if fact.invalid_at is not None else (_digest_of(fact), fact.embedding)
        if counted == self._facts.get(fact.uuid):
            return
        self.discard(fact.uuid)
        if counted is not None:
            self._facts[fact.uuid] = counted
            self._add(*counted)

    def discard(self, uuid: str) -> None:
        """Remove a fact, if it is active."""
        removed = self._facts.pop(uuid, None)
        if removed is not None:
            self._remove(*removed)

    def now(self) -> ActiveFacts:
        """Return what is active now."""
        if self._now is None:
            sums = [*self._sums.values()]
            # Vectors of two dimensions have no mean.
            embedding = _unit_vector(sums[0].total) if len(sums) == 1 else None
            self._now = ActiveFacts(
                len(self._uses), f"{self._hash:032x}", embedding, self._embedder
            )
        return self._now

    def _add(self, statement: bytes, embedding: Vector | None) -> None:
        self._now = None
        uses = self._uses.get(statement, 0)
        self._uses[statement] = uses + 1
        if not uses:
            self._hash = (self._hash + int.from_bytes(statement)) % _HASH_MODULUS
        if embedding is None:
            return
        vectors = self._vectors.setdefault(statement, {})
        smallest = min(vectors, default=None)
        vectors[embedding] = vectors.get(embedding, 0) + 1
        self._replace(smallest, embedding if smallest is None else min(smallest, embedding))

    def _remove(self, statement: bytes, embedding: Vector | None) -> None:
        self._now = None
        self._uses[statement] -= 1
        if not self._uses[statement]:
            del self._uses[statement]
            self._hash = (self._hash - int.from_bytes(statement)) % _HASH_MODULUS
        if embedding is None:
            return
        vectors = self._vectors[statement]
        smallest = min(vectors)
        vectors[embedding] -= 1
        if not vectors[embedding]:
            del vectors[embedding]
            self._replace(smallest, min(vectors, default=None))
        if not vectors:
            del self._vectors[statement]

    def _replace(self, before: Vector | None, after: Vector | None) -> None:
        """Replace the vector of a statement in the sums: of several, the smallest counts.

        So the order in which its facts came does not.
        """
        if before == after:
            return
        if before is not None:
            held = self._sums[len(before)]
            if held.vectors == 1:
                del self._sums[len(before)]
            else:
                self._sums[len(before)] = _VectorSum(
                    held.vectors - 1, held.total - _integers(before)
                )
        if after is not None:
            added, other = _integers(after), self._sums.get(len(after))
            self._sums[len(after)] = (
                _VectorSum(1, added)
                if other is None
                else _VectorSum(other.vectors + 1, other.total + added)
            )


class _VectorSum(NamedTuple):
    """The sum of vectors of one dimension."""

    vectors: int
    total: NDArray[np.int64]


def _digest_of(fact: Fact) -> bytes:
    """Return the digest of what the fact says, without who says it and when."""
    return _digest(fact.source, fact.relation, fact.target, fact.text)


@lru_cache(maxsize=1024)
def _digest(source: str, relation: str, target: str, text: str) -> bytes:
    return bytes.fromhex(ids.digest(source, relation, target, text))


@lru_cache(maxsize=1024)
def _integers(embedding: Vector) -> NDArray[np.int64]:
    # A turn adds and removes the vector of each of its facts several times.
    scaled = unpack(embedding).astype(np.float64) * (1 << _FRACTION_BITS)
    return np.rint(scaled).astype(np.int64)


def _unit_vector(total: NDArray[np.int64]) -> Vector | None:
    if not total.any():
        return None
    values = total.astype(np.float64)
    return pack(values / np.linalg.norm(values))
