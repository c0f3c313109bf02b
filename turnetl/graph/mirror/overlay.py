"""A group as it will be when the turn that is being done is committed: for a turn in parts.

What a later part says is matched against what the earlier ones said, as if each were committed. The
group itself is not touched, so that a turn that fails leaves no trace.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from typing_extensions import override

from turnetl.graph.mirror.candidates import Candidates, Near
from turnetl.graph.mirror.fulltext import FullText
from turnetl.graph.mirror.group import MirrorGroup, Things
from turnetl.model import Entity, Fact, GroupContents, GroupId


class Overlay:
    """A group, and over it what the turn's parts make and change."""

    def __init__(self, group: Things) -> None:
        self.group_id: GroupId = group.group_id
        self._below = group
        self.new = MirrorGroup(GroupContents(self.group_id, None, (), (), (), {}))
        """What the group below does not hold."""
        self._entities: dict[str, Entity] = {}
        self._facts: dict[str, Fact] = {}

    def take(self, entities: Iterable[Entity], facts: Iterable[Fact]) -> None:
        """Take in what a part makes and changes: as it shall be, each with its embedding."""
        made = [one for one in entities if not self._changes_entity(one)]
        self.new.put(made, [one for one in facts if not self._changes_fact(one)])

    @property
    def changed_entities(self) -> Sequence[Entity]:
        """Those that the group below holds otherwise."""
        return [one for one in self._entities.values() if one != self._below.entity(one.uuid)]

    @property
    def changed_facts(self) -> Sequence[Fact]:
        """Those that the group below holds otherwise."""
        return [one for one in self._facts.values() if one != self._below.fact(one.uuid)]

    @property
    def entities(self) -> Iterable[Entity]:
        held = self._below.entities
        as_is = (self._entities.get(one.uuid, one) for one in held) if self._entities else held
        return chain(as_is, self.new.entities)

    @property
    def facts(self) -> Iterable[Fact]:
        held = self._below.facts
        as_is = (self._facts.get(one.uuid, one) for one in held) if self._facts else held
        return chain(as_is, self.new.facts)

    def entity(self, uuid: str) -> Entity | None:
        return self.new.entity(uuid) or self._entities.get(uuid) or self._below.entity(uuid)

    def called(self, names: Collection[str]) -> Sequence[Entity]:
        """Return the entities of exactly these names, in the order of their creation."""
        below = (self._entities.get(one.uuid, one) for one in self._below.called(names))
        return [*below, *self.new.called(names)]

    def fact(self, uuid: str) -> Fact | None:
        return self.new.fact(uuid) or self._facts.get(uuid) or self._below.fact(uuid)

    def _changes_entity(self, entity: Entity) -> bool:
        if self._below.entity(entity.uuid) is None:
            return False
        self._entities[entity.uuid] = entity
        return True

    def _changes_fact(self, fact: Fact) -> bool:
        if self._below.fact(fact.uuid) is None:
            return False
        self._facts[fact.uuid] = fact
        return True


class OverlayCandidates(Candidates):
    """What comes near in a draft: in the group below, and among what is new."""

    def __init__(self, draft: Overlay, below: Candidates) -> None:
        super().__init__(draft)
        self._under = below
        self._new = Candidates(draft.new)

    @override
    def refresh(self) -> None:
        self._under.refresh()
        self._new.refresh()

    @override
    def nearest_entities(self, vector: Sequence[float], limit: int, above: float) -> list[Near]:
        under = self._under.nearest_entities(vector, limit, above)
        return _best(under, self._new.nearest_entities(vector, limit, above), limit)

    @override
    def nearest_facts(self, vector: Sequence[float], limit: int, above: float) -> list[Near]:
        under = self._under.nearest_facts(vector, limit, above)
        return _best(under, self._new.nearest_facts(vector, limit, above), limit)

    @override
    def joining(self, pair: frozenset[str]) -> Sequence[str]:
        return [*self._under.joining(pair), *self._new.joining(pair)]

    @override
    def worded(self, query: str, limit: int, *more: FullText) -> list[str]:
        return self._under.worded(query, limit, self._new.words, *more)


def _best(under: list[Near], new: list[Near], limit: int) -> list[Near]:
    """Return the nearest of both; of those as near, what was there before."""
    return sorted([*under, *new], key=lambda near: -near[1])[:limit] if new else under
