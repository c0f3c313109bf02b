"""Two extractors side by side: structure names things for free, a model adds what it cannot know.

Nothing is named twice: where both speak of a thing, it is the node that structure gives.
"""

import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from turnetl import ids
from turnetl.extraction.port import Extractor, Resolved
from turnetl.extraction.structural.findings import FILE
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.model import Entity, Episode, Fact, GroupId
from turnetl.search.terms import Tokenizer

_VERSION = "2"
"""Of how the two are put together."""
_NOES = ("no", "not", "never", "none", "neither", "nor", "without", "cannot")
_MORE_NOES = "n't"
_MARKS = ".,;:!?`'\"()"

First = TypeVar("First")
Second = TypeVar("Second")


class HybridExtractor(Generic[First, Second]):
    """Puts what `second` says beside what `first` says."""

    def __init__(self, first: Extractor[First], second: Extractor[Second]) -> None:
        """`first` gives the nodes that stay: structure. `second` adds to them: a model."""
        self._first = first
        self._second = second
        self._names: WeakKeyDictionary[MirrorGroup, Names] = WeakKeyDictionary()

    def recipe(self, group: GroupId, kind: str = "") -> str:
        both = self._first.recipe(group, kind), self._second.recipe(group, kind)
        return ids.digest("hybrid", _VERSION, *both)

    async def extract(self, episode: Episode, context: Sequence[Episode]) -> tuple[First, Second]:
        first = await self._first.extract(episode, context)
        return first, await self._second.extract(episode, context)

    async def resolve(
        self,
        episode: Episode,
        extracted: tuple[First, Second],
        group: MirrorGroup,
        *,
        now: datetime,
    ) -> Resolved:
        first = await self._first.resolve(episode, extracted[0], group, now=now)
        second = await self._second.resolve(episode, extracted[1], group, now=now)
        names = self._names.setdefault(group, Names(group))
        return together(names.with_known_nodes(first), second, group)

    async def close(self) -> None:
        await self._first.close()
        await self._second.close()


class Names:
    """The things of one group by their names."""

    def __init__(self, group: MirrorGroup) -> None:
        # Weakly: the names of a group shall not keep it in memory after its run.
        self._group: MirrorGroup = weakref.proxy(group)
        self._taken = 0
        self._named: dict[str, list[str]] = {}

    def with_known_nodes(self, said: Resolved) -> Resolved:
        """Return what was said with new things that the group knows under another key as those."""
        self._refresh()
        same: dict[str, Entity] = {}
        for entity in said.entities:
            known = None if self._group.entity(entity.uuid) else self._like(entity)
            # Two things of one name are two: only the first can be the one that is known.
            if known is not None and known not in same.values():
                same[entity.uuid] = known
        if not same:
            return said
        onto = {uuid: known.uuid for uuid, known in same.items()}
        laid = (
            _laid_over(same[one.uuid], one) if one.uuid in same else one for one in said.entities
        )
        return replace(
            said,
            entities=tuple(one for one in laid if one != self._group.entity(one.uuid)),
            facts=tuple(_moved(said, onto, self._group)),
            mentions=tuple(sorted({onto.get(uuid, uuid) for uuid in said.mentions})),
            mentioned_in=_said_in({}, said.mentioned_in, onto),
        )

    def _like(self, entity: Entity) -> Entity | None:
        found = map(self._group.entity, self._named.get(_plain(entity.name), ()))
        return next((one for one in found if one is not None and _alike(one, entity)), None)

    def _refresh(self) -> None:
        for entity in islice(self._group.entities, self._taken, None):
            self._named.setdefault(_plain(entity.name), []).append(entity.uuid)
            self._taken += 1


def together(first: Resolved, second: Resolved, group: MirrorGroup) -> Resolved:
    """Return what both say, each thing once, each fact once."""
    same = _same_things(first, second, group)
    entities = _entities(first.entities, second.entities, same)
    facts = _facts(first.facts, _moved(second, same, group))
    return Resolved(
        entities=tuple(sorted(entities, key=lambda one: group.entity(one.uuid) is not None)),
        facts=tuple(sorted(facts, key=lambda one: group.fact(one.uuid) is not None)),
        mentions=tuple(
            sorted({*first.mentions, *(same.get(uuid, uuid) for uuid in second.mentions)})
        ),
        usage=first.usage + second.usage,
        mentioned_in=_said_in(first.mentioned_in, second.mentioned_in, same),
        discarded=Counter(first.discarded) + Counter(second.discarded),
    )


def _said_in(
    first: Mapping[str, tuple[int, ...]],
    second: Mapping[str, tuple[int, ...]],
    same: Mapping[str, str],
) -> dict[str, tuple[int, ...]]:
    """Return the parts in which either finds a thing."""
    found = dict(first)
    for uuid, parts in second.items():
        ours = same.get(uuid, uuid)
        found[ours] = tuple(sorted({*found.get(ours, ()), *parts}))
    return found


def _same_things(first: Resolved, second: Resolved, group: MirrorGroup) -> dict[str, str]:
    """Return which of the second's things are which of the first's, by uuid."""
    ours = _spoken_of(first, group)
    named: dict[str, list[Entity]] = {}
    for entity in ours.values():
        named.setdefault(_plain(entity.name), []).append(entity)
    theirs = {uuid: one for uuid, one in _spoken_of(second, group).items() if uuid not in ours}
    found = {uuid: _like(one, named) for uuid, one in theirs.items()}
    return {uuid: one.uuid for uuid, one in found.items() if one is not None}


def _like(entity: Entity, named: Mapping[str, list[Entity]]) -> Entity | None:
    """Return the thing of that name; of a file also one that is named with more or fewer folders.

    If there are two such files, it is neither.
    """
    name = _plain(entity.name)
    alike = [one for one in named.get(name, ()) if _alike(one, entity)]
    if alike:
        return alike[0]
    files = [
        one
        for known, ones in named.items()
        if known.endswith(f"/{name}") or name.endswith(f"/{known}")
        for one in ones
        if FILE in one.labels and _alike(one, entity)
    ]
    return files[0] if len(files) == 1 else None


def _spoken_of(resolved: Resolved, group: MirrorGroup) -> dict[str, Entity]:
    """Return the things that the turn mentions, as they shall be, by uuid."""
    changed = {entity.uuid: entity for entity in resolved.entities}
    found = ((uuid, changed.get(uuid) or group.entity(uuid)) for uuid in resolved.mentions)
    return {uuid: entity for uuid, entity in found if entity is not None}


def _alike(one: Entity, other: Entity) -> bool:
    """Whether the kinds do not speak against each other; no kind fits every kind."""
    return not one.labels or not other.labels or bool(set(one.labels) & set(other.labels))


def _moved(resolved: Resolved, same: Mapping[str, str], group: MirrorGroup) -> list[Fact]:
    """Return the facts about the things that stay; those with nothing left to join are gone.

    What the graph holds already stays where it is.
    """
    moved = []
    for fact in resolved.facts:
        if group.fact(fact.uuid) is not None:
            moved.append(fact)
            continue
        source, target = same.get(fact.source, fact.source), same.get(fact.target, fact.target)
        if source != target or fact.source == fact.target:
            moved.append(replace(fact, source=source, target=target))
    return moved


def _entities(
    first: Sequence[Entity], second: Sequence[Entity], same: Mapping[str, str]
) -> tuple[Entity, ...]:
    kept = {entity.uuid: entity for entity in first}
    for entity in second:
        uuid = same.get(entity.uuid, entity.uuid)
        below = kept.get(uuid)
        if below is not None:
            kept[uuid] = _laid_over(below, entity)
        elif uuid == entity.uuid:
            kept[uuid] = entity
    return tuple(kept.values())


def _laid_over(first: Entity, second: Entity) -> Entity:
    return replace(
        first,
        labels=tuple(sorted({*first.labels, *second.labels})),
        summary=first.summary or second.summary,
        attributes={**second.attributes, **first.attributes},
        embedding=first.embedding or (second.embedding if second.name == first.name else None),
    )


def _facts(first: Sequence[Fact], second: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return the facts of both; the first's word counts where both change one, or say the same."""
    kept = {fact.uuid: fact for fact in first}
    words = Tokenizer()
    said = {_meaning(fact, words) for fact in first}
    for fact in second:
        ours = kept.get(fact.uuid)
        if ours is not None:
            turns = tuple(dict.fromkeys((*ours.turns, *fact.turns)))
            kept[fact.uuid] = replace(ours, turns=turns)
        elif _meaning(fact, words) not in said:
            kept[fact.uuid] = fact
    return tuple(kept.values())


def _meaning(fact: Fact, words: Tokenizer) -> tuple[frozenset[str], frozenset[str], int]:
    """Return the ends, the words but for order, endings and small ones, and how often it says no.

    Nearness of vectors would take "it works" and "it works no more" for the same.
    """
    said = (word.strip(_MARKS) for word in fact.text.lower().split())
    noes = sum(word in _NOES or word.endswith(_MORE_NOES) for word in said)
    return frozenset((fact.source, fact.target)), frozenset(words.count(fact.text)), noes


def _plain(name: str) -> str:
    return " ".join(name.lower().split())
