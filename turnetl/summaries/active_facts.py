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
    """The mean of the embeddings, of unit length. None without a statement that has one."""


class ActiveFactSet:
    """The active facts of one entity, changed fact by fact.

    The cost of a change does not depend on the number of facts, and the result does not depend on
    the order of the changes.
    """

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self._statements: dict[str, bytes] = {}
        self._uses: dict[bytes, int] = {}
        self._embeddings: dict[bytes, Vector] = {}
        self._hash = 0
        self._sum: NDArray[np.int64] | None = None
        for fact in facts:
            self.put(fact)

    def put(self, fact: Fact) -> None:
        """Add a fact, or replace it by its new state. An invalidated fact is not active."""
        self.discard(fact.uuid)
        if fact.invalid_at is None:
            self._statements[fact.uuid] = _statement(fact)
            self._add(self._statements[fact.uuid], fact.embedding)

    def discard(self, uuid: str) -> None:
        """Remove a fact, if it is active."""
        statement = self._statements.pop(uuid, None)
        if statement is not None:
            self._remove(statement)

    def now(self) -> ActiveFacts:
        """Return what is active now."""
        return ActiveFacts(len(self._uses), f"{self._hash:032x}", _unit_vector(self._sum))

    def _add(self, statement: bytes, embedding: Vector | None) -> None:
        self._uses[statement] = self._uses.get(statement, 0) + 1
        if self._uses[statement] > 1:
            return
        self._hash = (self._hash + int.from_bytes(statement)) % _HASH_MODULUS
        if embedding is not None:
            self._embeddings[statement] = embedding
            self._sum = _integers(embedding) + (0 if self._sum is None else self._sum)

    def _remove(self, statement: bytes) -> None:
        self._uses[statement] -= 1
        if self._uses[statement]:
            return
        del self._uses[statement]
        self._hash = (self._hash - int.from_bytes(statement)) % _HASH_MODULUS
        embedding = self._embeddings.pop(statement, None)
        if embedding is not None and self._sum is not None:
            self._sum = self._sum - _integers(embedding)


def _statement(fact: Fact) -> bytes:
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
