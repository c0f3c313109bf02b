"""Entities that were merged, and those that a person split again.

`merged_entities.json` in the lake has what was merged; it is applied to what turns resolve. A graph
does not show that two entities were one: their turns are ingested again. So each of them has its
facts, summaries and before-images as if the merge had been known from the beginning.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any

import msgspec

from turnetl.base.batched import grouped
from turnetl.base.errors import Fatal
from turnetl.base.ids import RecipeParts
from turnetl.base.model import ALIASES, Entity, Episode, Fact, GroupId, description, with_aliases
from turnetl.base.private_files import read_whole
from turnetl.extraction.port import Extractor, Resolved
from turnetl.graph.mirror.group import GroupView, folded
from turnetl.lake import LakeFiles

FILE = "merged_entities.json"


@dataclass(frozen=True, slots=True)
class MergedEntity:
    """An entity that is another one. By id, and by name for an extractor that draws ids."""

    group_id: GroupId
    kept: str
    """Id of the entity that it is."""
    kept_name: str
    merged: str
    """Its own id."""
    merged_name: str
    merged_labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MergedEntities:
    """The entities of a lake that are merged, and the pairs that a person split."""

    merges: tuple[MergedEntity, ...] = ()
    kept_apart: tuple[MergedEntity, ...] = ()
    """Merges that were split: only a person merges entities of these two names again."""

    def with_merge(self, new: MergedEntity) -> "MergedEntities":
        """Add a merge; what was merged into its entity follows it, and the two are not kept apart.

        Nothing else is merged into what is merged.
        """
        moved = (
            replace(one, kept=new.kept, kept_name=new.kept_name) if one.kept == new.merged else one
            for one in self.merges
        )
        merges = (one for one in moved if one.merged not in (new.merged, new.kept))
        splits = self.splits(new)
        apart = (one for one in self.kept_apart if one not in splits)
        return MergedEntities((*merges, new), tuple(apart))

    def without(self, split: Collection[MergedEntity]) -> "MergedEntities":
        """Take merges back, and keep their entities apart."""
        merges = (one for one in self.merges if one not in split)
        return MergedEntities(tuple(merges), tuple(dict.fromkeys((*self.kept_apart, *split))))

    def splits(self, merge: MergedEntity) -> list[MergedEntity]:
        """Return what keeps the two entities of a merge apart, or what was merged into them."""
        kept = self._names(merge.kept, merge.kept_name)
        merged = self._names(merge.merged, merge.merged_name)
        return [
            one
            for one in self.kept_apart
            if one.group_id == merge.group_id
            for name, other in [(folded(one.kept_name), folded(one.merged_name))]
            if (name in kept and other in merged) or (name in merged and other in kept)
        ]

    def _names(self, uuid: str, name: str) -> set[str]:
        return {folded(name), *(folded(one.merged_name) for one in self.merges if one.kept == uuid)}


def read_merged(files: LakeFiles) -> MergedEntities:
    """Return what was merged in a lake; nothing without a list.

    Raises:
        Fatal: the list cannot be read.
    """
    path = files.root / FILE
    files.fetch([path])
    try:
        # Before splits were kept, it was a list.
        kind = MergedEntities | tuple[MergedEntity, ...]
        listed = msgspec.json.decode(read_whole(path), type=kind)
    except (FileNotFoundError, NotADirectoryError):
        return MergedEntities()
    except (OSError, msgspec.DecodeError) as error:
        raise Fatal(
            f"the list of merged entities, `{files.name(path)}`, cannot be read: restore it from a "
            "backup, or move it away, and merge the entities again"
        ) from error
    return listed if isinstance(listed, MergedEntities) else MergedEntities(listed)


def write_merged(files: LakeFiles, listed: MergedEntities) -> None:
    """Replace the list; raise `LakeChanged` if another process replaced it meanwhile."""
    merges, apart = (sorted(part, key=_order) for part in (listed.merges, listed.kept_apart))
    ordered = MergedEntities(tuple(merges), tuple(apart))
    data = msgspec.json.format(msgspec.json.encode(ordered))
    files.replace(files.root / FILE, lambda file: file.write(data))
    files.sync(files.root)


def merges_named(
    merges: Iterable[MergedEntity], entity: Entity, alias: str
) -> Sequence[MergedEntity]:
    """Return the merges into an entity of what has a name, in any case."""
    return [
        one
        for one in merges
        if one.kept == entity.uuid and folded(one.merged_name) == folded(alias)
    ]


def merged_in(resolved: Resolved, merges: Collection[MergedEntity], group: GroupView) -> Resolved:
    """Return what a turn resolved with the merges of its group applied. Old facts stay."""
    found = _found(resolved, merges, group)
    if not found:
        return resolved
    entities = {entity.uuid: entity for entity in resolved.entities if entity.uuid not in found}
    own = {entity.uuid: entity for entity in resolved.entities}
    for uuid, merge in found.items():
        kept = entities.get(merge.kept) or group.entity(merge.kept)
        entities[merge.kept] = _combined(kept, own.get(uuid), merge, group)
    mentioned_in: dict[str, set[int]] = {}
    for uuid, chunks in resolved.mentioned_in.items():
        mentioned_in.setdefault(_kept(uuid, found), set()).update(chunks)
    return replace(
        resolved,
        entities=tuple(one for one in entities.values() if one != group.entity(one.uuid)),
        facts=tuple(_moved(resolved.facts, found, group)),
        mentions=tuple(sorted({_kept(uuid, found) for uuid in resolved.mentions})),
        mentioned_in={uuid: tuple(sorted(chunks)) for uuid, chunks in mentioned_in.items()},
    )


class MergingExtractor:
    """An extractor whose turns have the merged entities of their groups as one."""

    def __init__(self, extractor: Extractor[Any], merges: Iterable[MergedEntity]) -> None:
        self._extractor = extractor
        self._merges = grouped((merge.group_id, merge) for merge in merges)
        self.name = extractor.name
        self.model = extractor.model

    def recipe_parts(self, group: GroupId, kind: str = "") -> RecipeParts:
        return self._extractor.recipe_parts(group, kind)

    async def extract(self, episode: Episode, context: Sequence[Episode]) -> Any:
        return await self._extractor.extract(episode, context)

    async def resolve(
        self, episode: Episode, extracted: Any, group: GroupView, *, now: datetime
    ) -> Resolved:
        resolved = await self._extractor.resolve(episode, extracted, group, now=now)
        return merged_in(resolved, self._merges.get(group.group_id, ()), group)

    async def close(self) -> None:
        await self._extractor.close()


def _found(
    resolved: Resolved, merges: Collection[MergedEntity], group: GroupView
) -> dict[str, MergedEntity]:
    """Return the merged entities that the turn uses, by id."""
    by_uuid = {merge.merged: merge for merge in merges}
    ends = (end for fact in resolved.facts for end in (fact.source, fact.target))
    used = dict.fromkeys(chain((one.uuid for one in resolved.entities), resolved.mentions, ends))
    found = {uuid: by_uuid[uuid] for uuid in used if uuid in by_uuid}
    for entity in resolved.entities if merges else ():
        if entity.uuid not in found and group.entity(entity.uuid) is None:
            named = (merge for merge in merges if _is_named(entity, merge))
            found.update((entity.uuid, merge) for merge in named if merge.kept != entity.uuid)
    return found


def _is_named(entity: Entity, merge: MergedEntity) -> bool:
    is_same = folded(entity.name) == folded(merge.merged_name)
    return is_same and not {*merge.merged_labels}.isdisjoint(entity.labels)


def _combined(
    kept: Entity | None, merged: Entity | None, merge: MergedEntity, group: GroupView
) -> Entity:
    """Return the entity that stays, with the names and the description of the merged one."""
    found = merged or group.entity(merge.merged)
    if found is None:
        raise AssertionError(f"the turn uses entity {merge.merged}, which does not exist")
    entity = kept or replace(
        found, uuid=merge.kept, name=merge.kept_name, attributes={}, summary="", embedding=None
    )
    attributes = {name: value for name, value in found.attributes.items() if name != ALIASES}
    entity = replace(entity, attributes={**attributes, **entity.attributes})
    entity = replace(entity, summary=entity.summary or description(entity))
    return with_aliases(entity, (*found.names, merge.merged_name))


def _moved(
    facts: Iterable[Fact], found: Mapping[str, MergedEntity], group: GroupView
) -> Iterable[Fact]:
    for fact in facts:
        source, target = _kept(fact.source, found), _kept(fact.target, found)
        if group.fact(fact.uuid) is not None:
            yield fact
        elif source != target or fact.source == fact.target:
            yield replace(fact, source=source, target=target)


def _kept(uuid: str, found: Mapping[str, MergedEntity]) -> str:
    return found[uuid].kept if uuid in found else uuid


def _order(merge: MergedEntity) -> tuple[str, ...]:
    return merge.group_id, merge.kept_name, merge.merged_name, merge.merged
