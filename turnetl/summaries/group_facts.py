"""The facts of one group by entity, with the active facts of each entity kept up to date."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from turnetl.base.model import Fact
from turnetl.summaries.active_facts import ActiveFacts, ActiveFactSet


class FactsOfGroup(Protocol):
    """Facts by entity, which grow turn by turn."""

    def put(self, fact: Fact) -> None:
        """Add a fact, or replace it by its new state."""

    def active_about(self, entity: str, changed: Iterable[Fact] = ()) -> tuple[Fact, ...]: ...

    def ended_about(
        self, entity: str, uuids: Iterable[str] | None, changed: Iterable[Fact] = ()
    ) -> tuple[Fact, ...]: ...

    def degree_changes(self, changed: Iterable[Fact]) -> Mapping[str, int]: ...

    def degrees(self, facts: Iterable[Fact], changes: Mapping[str, int]) -> Mapping[str, int]: ...

    def active_after(self, entity: str, changed: Iterable[Fact]) -> ActiveFacts: ...

    def active_between(self, one: str, other: str) -> Iterator[Fact]: ...


class GroupFacts(FactsOfGroup):
    """All facts of a group, in memory. The cost of a change does not depend on their number."""

    def __init__(self, facts: Iterable[Fact], embedder: str | None = None) -> None:
        """Start with the facts of a group.

        Args:
            facts: oldest first.
            embedder: digest of the name of what made their embeddings; None if it is not known.
        """
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
            entity: its uuid.
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
        """Return the invalidated facts about an entity.

        Args:
            entity: its uuid.
            uuids: of the facts, in the order of the result; None: all, oldest first. One that is
                active, or that the group does not hold, is left out.
            changed: new and changed facts, in their new state, which are not applied.
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
        """Return how many facts more there will be about each entity, by its uuid.

        Args:
            changed: new and changed facts, in their new state, which are not applied.
        """
        more: dict[str, int] = {}
        for fact in changed:
            before = self._facts.get(fact.uuid)
            for uuid in {before.source, before.target} if before else ():
                more[uuid] = more.get(uuid, 0) - 1
            for uuid in {fact.source, fact.target}:
                more[uuid] = more.get(uuid, 0) + 1
        return more

    def degrees(self, facts: Iterable[Fact], changes: Mapping[str, int]) -> Mapping[str, int]:
        """Return the number of facts about each entity that these facts are about.

        Args:
            facts: name the entities.
            changes: of `degree_changes`.
        """
        entities = {uuid for fact in facts for uuid in (fact.source, fact.target)}
        return {uuid: len(self._facts_of.get(uuid, ())) + changes.get(uuid, 0) for uuid in entities}

    def active_after(self, entity: str, changed: Iterable[Fact]) -> ActiveFacts:
        """Return the active facts of an entity after changes, which are not applied."""
        active = self._active_set(entity)
        held = self._facts_of.get(entity, {})
        concerned = [fact for fact in changed if fact.uuid in held or _is_about(fact, entity)]
        for fact in concerned:
            _put_if_about(active, fact, entity)
        found = active.now()
        for fact in concerned:
            if fact.uuid in held:
                active.put(self._facts[fact.uuid])
            else:
                active.discard(fact.uuid)
        return found

    def active_between(self, one: str, other: str) -> Iterator[Fact]:
        """Yield the active facts about two entities."""
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


class FactsAhead(FactsOfGroup):
    """The facts of a group after turns that are not applied to it: it is not changed."""

    def __init__(self, base: FactsOfGroup) -> None:
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


def _put_if_about(active: ActiveFactSet, fact: Fact, entity: str) -> None:
    if _is_about(fact, entity):
        active.put(fact)
    else:
        active.discard(fact.uuid)


def _is_about(fact: Fact, entity: str) -> bool:
    return entity in (fact.source, fact.target)
