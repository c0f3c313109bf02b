"""A group as it will be after turns that are not committed yet, and the candidates in it.

A later chunk of a turn is resolved against the earlier chunks as if each were committed, and a turn
that runs ahead against the turns before it. The group itself is not changed, so a turn that fails
has no effect. `similarity` says how vectors are compared, `fulltext` how terms are.
"""

import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Reversible, Sequence
from itertools import chain, islice
from typing import TypeVar

from typing_extensions import override

from turnetl.base.model import Entity, Fact, GroupId
from turnetl.graph.mirror.fulltext import FullTextIndex
from turnetl.graph.mirror.group import GroupView, MirrorGroup, empty_contents
from turnetl.graph.mirror.similarity import (
    QueryVector,
    ScoredUuid,
    SimilarityIndex,
    nearest_of,
    query_matrix,
)
from turnetl.llm.vectors import Matrix

_Value = TypeVar("_Value", Entity, Fact)
_Kind = type[Entity] | type[Fact]


class CandidateIndex:
    """Entities and facts of a group that are most similar to a name or sentence.

    Names and fact texts never change, so only new ones are indexed.
    """

    def __init__(self, group: GroupView) -> None:
        # A weak reference: the indexes must not keep a group in memory after its run.
        self.group: GroupView = weakref.proxy(group)
        self._vectors: dict[_Kind, SimilarityIndex] = {
            Entity: SimilarityIndex(),
            Fact: SimilarityIndex(),
        }
        self.fulltext = FullTextIndex()
        """Of the facts."""
        self._indexed_entities = self._indexed_facts = 0
        self._by_endpoints: dict[frozenset[str], list[str]] = {}

    def refresh(self) -> None:
        """Index the entities and facts that were added to the group since the last refresh.

        What one that fails does not index, the next one does.
        """
        entities = _after(self.group.entities, self._indexed_entities)
        self._vectors[Entity].extend(entities)
        self._indexed_entities += len(entities)
        facts = _after(self.group.facts, self._indexed_facts)
        self._vectors[Fact].extend(facts)
        self._indexed_facts += len(facts)
        for fact in facts:
            self.fulltext.add(fact.uuid, fact.relation, fact.text)
            endpoints = frozenset((fact.source, fact.target))
            self._by_endpoints.setdefault(endpoints, []).append(fact.uuid)

    def entities_near(
        self, vectors: Sequence[QueryVector], limit: int, min_score: float
    ) -> list[list[Entity]]:
        """Return the entities nearest to each vector, best first."""
        nearest = self.nearest(Entity, query_matrix(vectors), limit, min_score)
        found = self.group.entity
        return [[entity for uuid, _ in scored if (entity := found(uuid))] for scored in nearest]

    def facts_near(
        self, vectors: Sequence[QueryVector], limit: int, min_score: float
    ) -> list[list[Fact]]:
        """Return the facts nearest to each vector, best first."""
        nearest = self.nearest(Fact, query_matrix(vectors), limit, min_score)
        return [self._facts(uuid for uuid, _ in scored) for scored in nearest]

    def facts_near_between(
        self, pair: frozenset[str], vector: QueryVector, limit: int, min_score: float
    ) -> list[Fact]:
        """Return the nearest of the facts whose two endpoints are in `pair`, loops included."""
        nearest = nearest_of(self._facts(self._between(pair)), vector, limit, min_score)
        return self._facts(uuid for uuid, _ in nearest)

    def facts_matching(
        self, query: str, limit: int, pair: frozenset[str] | None = None
    ) -> list[Fact]:
        """Return the facts that share terms with the query, best first.

        With a pair, only those of them whose two endpoints are in it, loops included.
        """
        uuids = self.fulltext_matches(query, limit)
        if pair is not None:
            between = set(self._between(pair))
            uuids = [uuid for uuid in uuids if uuid in between]
        return self._facts(uuids)

    def nearest(
        self, kind: _Kind, queries: Matrix, limit: int, min_score: float
    ) -> list[list[ScoredUuid]]:
        """Return those of a kind nearest to each query, a row, best first, with their scores."""
        return self._vectors[kind].nearest(queries, limit, min_score)

    def fact_uuids_between(self, endpoints: frozenset[str]) -> Sequence[str]:
        """Return the facts between two entities, or from one entity to itself."""
        return self._by_endpoints.get(endpoints, ())

    def fulltext_matches(self, query: str, limit: int, *more: FullTextIndex) -> list[str]:
        """Return the facts that share terms with the query, best first; `more` is searched too."""
        return [uuid for uuid, _ in self.fulltext.search(query, limit, *more)]

    def _between(self, pair: frozenset[str]) -> Iterator[str]:
        """Yield the facts whose two endpoints are in the pair, loops last."""
        loops = (frozenset((entity,)) for entity in sorted(pair) if len(pair) > 1)
        return (uuid for key in (pair, *loops) for uuid in self.fact_uuids_between(key))

    def _facts(self, uuids: Iterable[str]) -> list[Fact]:
        return [fact for uuid in uuids if (fact := self.group.fact(uuid))]


def _after(values: Iterable[_Value], count: int) -> list[_Value]:
    """Return the values after the first ones; of a dict, without a pass over those."""
    if isinstance(values, Collection) and isinstance(values, Reversible):
        return list(islice(reversed(values), len(values) - count))[::-1]
    return list(islice(values, count, None))


class Overlay:
    """A group, overlaid with new and changed entities and facts."""

    def __init__(self, base: GroupView) -> None:
        self.group_id: GroupId = base.group_id
        self.base = base
        """The group below."""
        self.new = _empty(base.group_id)
        """Entities and facts that the base does not hold."""
        self.generation = 0
        """Changes when the base or all that lies over it is replaced."""
        self._entities: dict[str, Entity] = {}
        self._facts: dict[str, Fact] = {}

    def add(self, entities: Iterable[Entity], facts: Iterable[Fact]) -> None:
        """Add new and changed entities and facts, each with its embedding."""
        new_entities = _put_changed(self._entities, entities, self.base.entity)
        self.new.put(new_entities, _put_changed(self._facts, facts, self.base.fact))

    def clear(self) -> None:
        """Remove everything that was added: it was committed, so the base holds it now."""
        self.new = _empty(self.group_id)
        self._entities.clear()
        self._facts.clear()
        self.generation += 1

    def rebase(self, base: GroupView) -> None:
        """Lay it over another group with the same contents as the one below."""
        self.base = base
        self.generation += 1

    @property
    def changed_entities(self) -> Sequence[Entity]:
        """Entities that the base holds in another state."""
        changed = self._entities.values()
        return [entity for entity in changed if entity != self.base.entity(entity.uuid)]

    @property
    def changed_facts(self) -> Sequence[Fact]:
        """Facts that the base holds in another state."""
        return [fact for fact in self._facts.values() if fact != self.base.fact(fact.uuid)]

    @property
    def entities(self) -> Iterable[Entity]:
        base = self.base.entities
        if self._entities:
            base = (self._entities.get(entity.uuid, entity) for entity in base)
        return chain(base, self.new.entities)

    @property
    def facts(self) -> Iterable[Fact]:
        base = self.base.facts
        if self._facts:
            base = (self._facts.get(fact.uuid, fact) for fact in base)
        return chain(base, self.new.facts)

    def entity(self, uuid: str) -> Entity | None:
        return self.new.entity(uuid) or self._entities.get(uuid) or self.base.entity(uuid)

    def entities_named(self, names: Collection[str]) -> Sequence[Entity]:
        return [*self._current(self.base.entities_named(names)), *self.new.entities_named(names)]

    def entities_like(self, name: str) -> Sequence[Entity]:
        return [*self._current(self.base.entities_like(name)), *self.new.entities_like(name)]

    def files_named(self, base: str) -> Sequence[Entity]:
        return [*self._current(self.base.files_named(base)), *self.new.files_named(base)]

    def fact(self, uuid: str) -> Fact | None:
        return self.new.fact(uuid) or self._facts.get(uuid) or self.base.fact(uuid)

    def valid_facts(self, source: str, relation: str) -> Sequence[Fact]:
        base = self._valid(
            self.base.valid_facts(source, relation),
            lambda fact: (fact.source, fact.relation) == (source, relation),
        )
        return [*base, *self.new.valid_facts(source, relation)]

    def valid_facts_to(self, target: str, relation: str) -> Sequence[Fact]:
        base = self._valid(
            self.base.valid_facts_to(target, relation),
            lambda fact: (fact.target, fact.relation) == (target, relation),
        )
        return [*base, *self.new.valid_facts_to(target, relation)]

    def valid_facts_with(self, name: str, value: str) -> Sequence[Fact]:
        base = self._valid(
            self.base.valid_facts_with(name, value),
            lambda fact: fact.attributes.get(name) == value,
        )
        return [*base, *self.new.valid_facts_with(name, value)]

    def _current(self, base: Iterable[Entity]) -> Iterable[Entity]:
        return (self._entities.get(entity.uuid, entity) for entity in base)

    def _valid(self, base: Sequence[Fact], is_searched: Callable[[Fact], bool]) -> Iterable[Fact]:
        """Return the facts that are valid here, of those of the base and of the changed ones."""
        if not self._facts:
            return base
        facts = {fact.uuid: self._facts.get(fact.uuid, fact) for fact in base}
        facts |= {fact.uuid: fact for fact in self._facts.values() if is_searched(fact)}
        return [fact for fact in facts.values() if fact.invalid_at is None and is_searched(fact)]


class OverlayCandidates(CandidateIndex):
    """Candidates in an overlay: those of the group below and those of what was added to it."""

    def __init__(
        self, overlay: Overlay, candidates_of: Callable[[GroupView], CandidateIndex]
    ) -> None:
        """Index an overlay, which is held weakly.

        `candidates_of` returns the candidates of the group below, also of one that replaces it.
        """
        super().__init__(overlay)
        self._overlay: Overlay = weakref.proxy(overlay)
        self._candidates_of = candidates_of
        self._generation = overlay.generation
        self._new_group, self._new = overlay.new, CandidateIndex(overlay.new)
        # The same sentence is searched among a pair's facts and among all facts.
        self._matches: dict[tuple[str, int], list[str]] = {}

    @override
    def refresh(self) -> None:
        self._generation = self._overlay.generation
        self._matches.clear()
        if self._new_group is not self._overlay.new:
            self._new_group = self._overlay.new
            self._new = CandidateIndex(self._new_group)
        self._candidates_of(self._overlay.base).refresh()
        self._new.refresh()

    @override
    def nearest(
        self, kind: _Kind, queries: Matrix, limit: int, min_score: float
    ) -> list[list[ScoredUuid]]:
        base = self._below().nearest(kind, queries, limit, min_score)
        return _best(base, self._new.nearest(kind, queries, limit, min_score), limit)

    @override
    def fact_uuids_between(self, endpoints: frozenset[str]) -> Sequence[str]:
        below = self._below().fact_uuids_between(endpoints)
        return [*below, *self._new.fact_uuids_between(endpoints)]

    @override
    def fulltext_matches(self, query: str, limit: int, *more: FullTextIndex) -> list[str]:
        below = self._below()
        if more:
            return below.fulltext_matches(query, limit, self._new.fulltext, *more)
        found = self._matches.get((query, limit))
        if found is None:
            found = below.fulltext_matches(query, limit, self._new.fulltext)
            self._matches[query, limit] = found
        return found

    def _below(self) -> CandidateIndex:
        """Return the candidates of the group below, up to date if it was replaced meanwhile."""
        if self._generation != self._overlay.generation:
            self.refresh()
        return self._candidates_of(self._overlay.base)


def _put_changed(
    changed: dict[str, _Value], values: Iterable[_Value], in_base: Callable[[str], _Value | None]
) -> list[_Value]:
    """Put the values that the base holds into `changed`; return the others."""
    new = []
    for value in values:
        if in_base(value.uuid) is None:
            new.append(value)
        else:
            changed[value.uuid] = value
    return new


def _empty(group: GroupId) -> MirrorGroup:
    return MirrorGroup(empty_contents(group))


def _best(
    base: Iterable[list[ScoredUuid]], new: Iterable[list[ScoredUuid]], limit: int
) -> list[list[ScoredUuid]]:
    """Return the nearest of both for each vector; among equal ones, those of the base first."""
    return [
        sorted([*below, *added], key=lambda scored: -scored[1])[:limit] if added else below
        for below, added in zip(base, new, strict=True)
    ]
