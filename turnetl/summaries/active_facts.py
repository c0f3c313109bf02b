"""The active facts of an entity: those that were not invalidated, each statement once.

A statement that several turns repeat is one statement: it is no news the second time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from turnetl import ids
from turnetl.llm.vectors import pack, unpack
from turnetl.model import Fact, Vector

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
        self._statements: dict[bytes, _Statement] = {}
        self._hash = 0
        self._sums: dict[int, _VectorSum] = {}
        for fact in facts:
            self.put(fact)

    def put(self, fact: Fact) -> None:
        """Add a fact, or replace it by its new state. An invalidated fact is not active."""
        self.discard(fact.uuid)
        if fact.invalid_at is None:
            self._facts[fact.uuid] = _digest_of(fact), fact.embedding
            self._add(*self._facts[fact.uuid])

    def discard(self, uuid: str) -> None:
        """Remove a fact, if it is active."""
        removed = self._facts.pop(uuid, None)
        if removed is not None:
            self._remove(*removed)

    def now(self) -> ActiveFacts:
        """Return what is active now."""
        sums = [*self._sums.values()]
        # Vectors of two dimensions have no mean.
        embedding = _unit_vector(sums[0].total) if len(sums) == 1 else None
        return ActiveFacts(len(self._statements), f"{self._hash:032x}", embedding, self._embedder)

    def _add(self, digest: bytes, embedding: Vector | None) -> None:
        statement = self._statements.get(digest)
        if statement is None:
            statement = self._statements[digest] = _Statement()
            self._hash = (self._hash + int.from_bytes(digest)) % _HASH_MODULUS
        before = statement.embedding
        statement.add(embedding)
        self._replace(before, statement.embedding)

    def _remove(self, digest: bytes, embedding: Vector | None) -> None:
        statement = self._statements[digest]
        before = statement.embedding
        statement.remove(embedding)
        self._replace(before, statement.embedding)
        if not statement.facts:
            del self._statements[digest]
            self._hash = (self._hash - int.from_bytes(digest)) % _HASH_MODULUS

    def _replace(self, before: Vector | None, after: Vector | None) -> None:
        """Replace the embedding of a statement in the sums."""
        if before == after:
            return
        if before is not None:
            dimension = len(before)
            self._sums[dimension].remove(before)
            if not self._sums[dimension].count:
                del self._sums[dimension]
        if after is not None:
            self._sums.setdefault(len(after), _VectorSum()).add(after)


class _Statement:
    """The active facts that make one statement, by their embeddings."""

    __slots__ = ("_uses", "embedding", "facts")

    def __init__(self) -> None:
        self.facts = 0
        self._uses: dict[Vector, int] = {}
        self.embedding: Vector | None = None
        """The one that counts: of several, the smallest, in whichever order they came."""

    def add(self, embedding: Vector | None) -> None:
        self.facts += 1
        if embedding is None:
            return
        self._uses[embedding] = self._uses.get(embedding, 0) + 1
        if self.embedding is None or embedding < self.embedding:
            self.embedding = embedding

    def remove(self, embedding: Vector | None) -> None:
        self.facts -= 1
        if embedding is None:
            return
        self._uses[embedding] -= 1
        if not self._uses[embedding]:
            del self._uses[embedding]
            self.embedding = min(self._uses, default=None)


class _VectorSum:
    """The sum of vectors of one dimension."""

    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total: NDArray[np.int64] | None = None

    def add(self, vector: Vector) -> None:
        self.count += 1
        self.total = _integers(vector) + (0 if self.total is None else self.total)

    def remove(self, vector: Vector) -> None:
        self.count -= 1
        self.total = self.total - _integers(vector) if self.total is not None else None


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


def _unit_vector(total: NDArray[np.int64] | None) -> Vector | None:
    if total is None or not total.any():
        return None
    values = total.astype(np.float64)
    return pack(values / np.linalg.norm(values))
