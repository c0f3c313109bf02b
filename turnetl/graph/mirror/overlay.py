"""A group as it will be after the current turn is committed: for a turn in chunks.

A later chunk is resolved against the earlier chunks as if each were committed. The group itself is
not changed, so a turn that fails has no effect.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from typing_extensions import override

from turnetl.graph.mirror.candidates import CandidateIndex
from turnetl.graph.mirror.fulltext import FullTextIndex
from turnetl.graph.mirror.group import GroupView, MirrorGroup
from turnetl.graph.mirror.similarity import ScoredUuid
from turnetl.graph_model import GroupContents
from turnetl.model import Entity, Fact, GroupId


class Overlay:
    """A group, overlaid with the new and changed entities and facts of the turn."""

    def __init__(self, group: GroupView) -> None:
        self.group_id: GroupId = group.group_id
        self._base = group
        self.new = MirrorGroup(GroupContents(self.group_id, None, (), (), (), {}))
        """Entities and facts that the base group does not hold."""
        self._entities: dict[str, Entity] = {}
        self._facts: dict[str, Fact] = {}

    def add(self, entities: Iterable[Entity], facts: Iterable[Fact]) -> None:
        """Add the new and changed entities and facts of a chunk, each with its embedding."""
        new_entities = [entity for entity in entities if not self._change_entity(entity)]
        self.new.put(new_entities, [fact for fact in facts if not self._change_fact(fact)])

    @property
    def changed_entities(self) -> Sequence[Entity]:
        """Entities that the base group holds in another state."""
        changed = self._entities.values()
        return [entity for entity in changed if entity != self._base.entity(entity.uuid)]

    @property
    def changed_facts(self) -> Sequence[Fact]:
        """Facts that the base group holds in another state."""
        return [fact for fact in self._facts.values() if fact != self._base.fact(fact.uuid)]

    @property
    def entities(self) -> Iterable[Entity]:
        base = self._base.entities
        if self._entities:
            base = (self._entities.get(entity.uuid, entity) for entity in base)
        return chain(base, self.new.entities)

    @property
    def facts(self) -> Iterable[Fact]:
        base = self._base.facts
        if self._facts:
            base = (self._facts.get(fact.uuid, fact) for fact in base)
        return chain(base, self.new.facts)

    def entity(self, uuid: str) -> Entity | None:
        return self.new.entity(uuid) or self._entities.get(uuid) or self._base.entity(uuid)

    def entities_named(self, names: Collection[str]) -> Sequence[Entity]:
        """Return the entities with exactly these names, in order of creation."""
        base = self._base.entities_named(names)
        current = (self._entities.get(entity.uuid, entity) for entity in base)
        return [*current, *self.new.entities_named(names)]

    def fact(self, uuid: str) -> Fact | None:
        return self.new.fact(uuid) or self._facts.get(uuid) or self._base.fact(uuid)

    def _change_entity(self, entity: Entity) -> bool:
        if self._base.entity(entity.uuid) is None:
            return False
        self._entities[entity.uuid] = entity
        return True

    def _change_fact(self, fact: Fact) -> bool:
        if self._base.fact(fact.uuid) is None:
            return False
        self._facts[fact.uuid] = fact
        return True


class OverlayCandidates(CandidateIndex):
    """Candidates in an overlay: those of the base group and those of the new entities and facts."""

    def __init__(self, overlay: Overlay, base: CandidateIndex) -> None:
        super().__init__(overlay)
        self._base = base
        self._new = CandidateIndex(overlay.new)

    @override
    def refresh(self) -> None:
        self._base.refresh()
        self._new.refresh()

    @override
    def nearest_entities(
        self, vector: Sequence[float], limit: int, min_score: float
    ) -> list[ScoredUuid]:
        base = self._base.nearest_entities(vector, limit, min_score)
        return _best(base, self._new.nearest_entities(vector, limit, min_score), limit)

    @override
    def nearest_facts(
        self, vector: Sequence[float], limit: int, min_score: float
    ) -> list[ScoredUuid]:
        base = self._base.nearest_facts(vector, limit, min_score)
        return _best(base, self._new.nearest_facts(vector, limit, min_score), limit)

    @override
    def fact_uuids_between(self, endpoints: frozenset[str]) -> Sequence[str]:
        return [*self._base.fact_uuids_between(endpoints), *self._new.fact_uuids_between(endpoints)]

    @override
    def fulltext_matches(self, query: str, limit: int, *more: FullTextIndex) -> list[str]:
        return self._base.fulltext_matches(query, limit, self._new.fulltext, *more)


def _best(base: list[ScoredUuid], new: list[ScoredUuid], limit: int) -> list[ScoredUuid]:
    """Return the nearest of both; among equal ones, those of the base group first."""
    return sorted([*base, *new], key=lambda scored: -scored[1])[:limit] if new else base
