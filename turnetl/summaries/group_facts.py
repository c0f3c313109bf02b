"""The facts of one group by entity, with the active facts of each entity kept up to date.

Active are those that were not invalidated, each statement once: a repeated one is no news.
"""

from collections.abc import Iterable, Iterator, Mapping
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
        statement = _digest(fact.source, fact.relation, fact.target, fact.text)
        counted = None if fact.invalid_at is not None else (statement, fact.embedding)
        if counted == self._facts.get(fact.uuid):
            return
        self.discard(fact.uuid)
        if counted is not None:
            self._facts[fact.uuid] = counted
            self._add(*counted)

    def discard(self, uuid: str) -> None:
        removed = self._facts.pop(uuid, None)
        if removed is not None:
            self._remove(*removed)

    def now(self) -> ActiveFacts:
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
        """Replace the vector of a statement in the sums: of several the smallest, in any order."""
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


@lru_cache(maxsize=1024)
def _digest(source: str, relation: str, target: str, text: str) -> bytes:
    """Return the digest of what a fact says, without who says it and when."""
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


class GroupFacts:
    """All facts of a group, in memory. The cost of a change does not depend on their number."""

    def __init__(self, facts: Iterable[Fact], embedder: str | None = None) -> None:
        """Start with the facts of a group, oldest first."""
        self._embedder = embedder
        self._facts: dict[str, Fact] = {}
        self._facts_of: dict[str, dict[str, None]] = {}
        self._active: dict[str, ActiveFactSet] = {}
        for fact in facts:
            self.put(fact)

    def put(self, fact: Fact) -> None:
        """Add a fact, or replace it by its new state."""
        before = self._facts.get(fact.uuid, fact)
        for uuid in {before.source, before.target} - {fact.source, fact.target}:
            self._facts_of[uuid].pop(fact.uuid, None)
            if uuid in self._active:
                self._active[uuid].discard(fact.uuid)
        self._facts[fact.uuid] = fact
        for uuid in (fact.source, fact.target):
            self._facts_of.setdefault(uuid, {})[fact.uuid] = None
            if uuid in self._active:
                self._active[uuid].put(fact)

    def active_about(self, entity: str, changed: Iterable[Fact] = ()) -> tuple[Fact, ...]:
        """Return the active facts about an entity, in the order in which a later run loads them.

        Args:
            changed: new and changed facts, in their new state, which are not applied.
        """
        facts = {uuid: self._facts[uuid] for uuid in self._facts_of.get(entity, ())}
        facts |= {fact.uuid: fact for fact in changed}
        active = [
            one for one in facts.values() if one.invalid_at is None and _is_about(one, entity)
        ]
        return tuple(sorted(active, key=lambda fact: (fact.created_at, fact.uuid)))

    def ended_about(
        self, entity: str, uuids: Iterable[str] | None, changed: Iterable[Fact] = ()
    ) -> tuple[Fact, ...]:
        """Return the invalidated facts about an entity, with `changed` as of `active_about`.

        Args:
            uuids: of the facts, in the order of the result; None: all, oldest first. One that is
                active, or that the group does not hold, is left out.
        """
        after = {fact.uuid: fact for fact in changed}
        chosen = (*self._facts_of.get(entity, ()), *after) if uuids is None else uuids
        found = (after.get(uuid) or self._facts.get(uuid) for uuid in dict.fromkeys(chosen))
        ended = [
            one for one in found if one and one.invalid_at is not None and _is_about(one, entity)
        ]
        if uuids is None:
            ended.sort(key=lambda fact: (fact.created_at, fact.uuid))
        return tuple(ended)

    def degree_changes(self, changed: Iterable[Fact]) -> Mapping[str, int]:
        """Return how many facts more there will be about each entity, by its uuid."""
        more: dict[str, int] = {}
        for fact in changed:
            before = self._facts.get(fact.uuid)
            for uuid in {before.source, before.target} if before else ():
                more[uuid] = more.get(uuid, 0) - 1
            for uuid in {fact.source, fact.target}:
                more[uuid] = more.get(uuid, 0) + 1
        return more

    def degrees(self, facts: Iterable[Fact], changes: Mapping[str, int]) -> Mapping[str, int]:
        """Return the number of facts about each entity that these facts name, after the changes."""
        entities = {uuid for fact in facts for uuid in (fact.source, fact.target)}
        return {uuid: len(self._facts_of.get(uuid, ())) + changes.get(uuid, 0) for uuid in entities}

    def active_after(self, entity: str, changed: Iterable[Fact]) -> ActiveFacts:
        """Return the active facts of an entity after changes, which are not applied."""
        active = self._active_set(entity)
        held = self._facts_of.get(entity, {})
        concerned = [fact for fact in changed if fact.uuid in held or _is_about(fact, entity)]
        for fact in concerned:
            if _is_about(fact, entity):
                active.put(fact)
            else:
                active.discard(fact.uuid)
        found = active.now()
        for fact in concerned:
            if fact.uuid in held:
                active.put(self._facts[fact.uuid])
            else:
                active.discard(fact.uuid)
        return found

    def active_between(self, one: str, other: str) -> Iterator[Fact]:
        fewer, more = sorted((one, other), key=lambda uuid: len(self._facts_of.get(uuid, ())))
        for uuid in self._facts_of.get(fewer, ()):
            fact = self._facts[uuid]
            if fact.invalid_at is None and _is_about(fact, more):
                yield fact

    def _active_set(self, entity: str) -> ActiveFactSet:
        if entity not in self._active:
            of_entity = self._facts_of.get(entity, ())
            facts = (self._facts[fact] for fact in of_entity)
            self._active[entity] = ActiveFactSet(facts, self._embedder)
        return self._active[entity]


class FactsAhead:
    """The facts of a group after turns that are not applied to it: it is not changed."""

    def __init__(self, base: "FactsOfGroup") -> None:
        self._base = base
        self._changed: dict[str, Fact] = {}

    def put(self, fact: Fact) -> None:
        self._changed[fact.uuid] = fact

    def active_about(self, entity: str, changed: Iterable[Fact] = ()) -> tuple[Fact, ...]:
        return self._base.active_about(entity, self._with(changed))

    def ended_about(
        self, entity: str, uuids: Iterable[str] | None, changed: Iterable[Fact] = ()
    ) -> tuple[Fact, ...]:
        return self._base.ended_about(entity, uuids, self._with(changed))

    def degree_changes(self, changed: Iterable[Fact]) -> Mapping[str, int]:
        return self._base.degree_changes(self._with(changed))

    def degrees(self, facts: Iterable[Fact], changes: Mapping[str, int]) -> Mapping[str, int]:
        return self._base.degrees(facts, changes)

    def active_after(self, entity: str, changed: Iterable[Fact]) -> ActiveFacts:
        return self._base.active_after(entity, self._with(changed))

    def active_between(self, one: str, other: str) -> Iterator[Fact]:
        for fact in self._base.active_between(one, other):
            if fact.uuid not in self._changed:
                yield fact
        for fact in self._changed.values():
            if fact.invalid_at is None and _is_about(fact, one) and _is_about(fact, other):
                yield fact

    def _with(self, changed: Iterable[Fact]) -> Iterable[Fact]:
        return (self._changed | {fact.uuid: fact for fact in changed}).values()


FactsOfGroup = GroupFacts | FactsAhead
"""Facts by entity, which grow turn by turn."""


def _is_about(fact: Fact, entity: str) -> bool:
    return entity in (fact.source, fact.target)
