"""Merge entities of a group, or split them: a list in the lake, then a redo of turns."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.model import Entity, GroupId, TurnId
from turnetl.base.progress import Progress, ignore_progress
from turnetl.base.results import described
from turnetl.graph.port import GraphStore
from turnetl.index.persistent import PersistentIndex
from turnetl.ingestion.merged_entities import (
    CERTAIN,
    Duplicate,
    MergedEntity,
    find_duplicates,
    merges_named,
    read_merged,
    with_duplicates,
    with_merge,
    write_merged,
)
from turnetl.ingestion.redo_report import RedoReport, RedoSelection
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.history import group_ids
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.opened_items import read_index
from turnetl.pipeline.run_options import RunOptions
from turnetl.pipeline.run_redo import preview_redo, redo
from turnetl.retrieval.items import find_entity
from turnetl.settings import Settings


@dataclass(frozen=True, slots=True)
class MergePlan:
    """A merge or a split, and the turns that it ingests again."""

    merges: tuple[MergedEntity, ...]
    """All of the lake, after it."""
    redo: RedoReport
    """Without groups: there is nothing to do."""


@dataclass(frozen=True, slots=True)
class DuplicateReport:
    """Entities that may be one, and what was done about those that are."""

    duplicates: Annotated[
        tuple[Duplicate, ...], described("Pairs of entities, the most certain of a group first.")
    ]
    certain_from: Annotated[float, described("The certainty from which `--yes` merges.")] = CERTAIN
    redo: Annotated[
        RedoReport | None,
        described("What was ingested again with the entities merged; null without `--yes`."),
    ] = None

    @property
    def certain(self) -> list[Duplicate]:
        return [pair for pair in self.duplicates if pair.certainty >= self.certain_from]


async def duplicate_entities(settings: Settings, *, groups: Sequence[str] = ()) -> DuplicateReport:
    """Return the entities of each group that may be one. Holds one group in memory at a time.

    Raises:
        BadUsage: an unknown group.
    """
    check_graph(settings)
    found: list[Duplicate] = []
    async with wiring.store(settings, write=False) as store:
        for group in select_groups(await store.groups(), groups):
            found += find_duplicates(await store.load(group), await store.commit_records(group))
    return DuplicateReport(tuple(found))


async def preview_duplicates(
    settings: Settings, found: DuplicateReport, options: RunOptions, clock: Clock
) -> MergePlan:
    """Plan that all pairs that are certain are one. Writes nothing."""
    merges = read_merged(wiring.lake(settings).files)
    after, new = with_duplicates(merges, found.certain)
    redo = await _redo_of(settings, new, options, clock) if new else _nothing()
    return MergePlan(tuple(after), redo)


async def preview_merge(
    settings: Settings,
    kept: str,
    merged: str,
    options: RunOptions,
    clock: Clock,
    *,
    groups: Sequence[str] = (),
) -> MergePlan:
    """Plan that the second entity is the first one, in all turns from now on. Writes nothing.

    Raises:
        BadUsage: an unknown or ambiguous name, or entities of two groups.
    """
    one, other = await _entities(settings, [kept, merged], groups, clock)
    if one.group_id != other.group_id:
        raise BadUsage(
            f"`{one.name}` is of group `{one.group_id}` and `{other.name}` of `{other.group_id}`: "
            "only entities of one group can be merged; select it with --group"
        )
    merges = read_merged(wiring.lake(settings).files)
    if one.uuid == other.uuid:
        return MergePlan(merges, _nothing())
    new = MergedEntity(one.group_id, one.uuid, one.name, other.uuid, other.name, other.labels)
    after = tuple(with_merge(merges, new))
    entities = {other.group_id: {other.uuid}}
    return MergePlan(after, await _redo_of(settings, entities, options, clock))


async def preview_split(
    settings: Settings,
    kept: str,
    alias: str,
    options: RunOptions,
    clock: Clock,
    *,
    groups: Sequence[str] = (),
) -> MergePlan:
    """Plan that what was merged into an entity is one of its own again. Writes nothing.

    Raises:
        BadUsage: an unknown or ambiguous name, or nothing of that name was merged into the entity.
    """
    [entity] = await _entities(settings, [kept], groups, clock)
    merges = read_merged(wiring.lake(settings).files)
    split = merges_named(merges, entity, alias)
    if not split:
        into = (f"`{one.merged_name}`" for one in merges if one.kept == entity.uuid)
        listed = ", ".join(into) or "nothing"
        raise BadUsage(
            f"`{alias}` was not merged into `{entity.name}` (merged: {listed}): another spelling "
            "that turnetl found is no entity of its own"
        )
    after = tuple(merge for merge in merges if merge not in split)
    entities = {entity.group_id: {entity.uuid}}
    return MergePlan(after, await _redo_of(settings, entities, options, clock))


async def merge(
    settings: Settings,
    plan: MergePlan,
    options: RunOptions,
    clock: Clock,
    *,
    progress: Progress = ignore_progress,
) -> RedoReport:
    """Carry out the plan of a merge or a split. If it is killed, the same command continues."""
    if plan.redo.is_refused:
        return plan.redo
    write_merged(wiring.lake(settings).files, plan.merges)
    return await redo(settings, plan.redo, options, clock, progress=progress)


async def _entities(
    settings: Settings, names: Sequence[str], groups: Sequence[str], clock: Clock
) -> list[Entity]:
    def read(index: PersistentIndex) -> list[Entity]:
        of_groups = group_ids(index, groups)
        return [find_entity(index.lookup(), name, None, of_groups)[0] for name in names]

    return (await read_index(read, settings, clock, ignore_progress)).value


async def _redo_of(
    settings: Settings,
    entities: Mapping[GroupId, Collection[str]],
    options: RunOptions,
    clock: Clock,
) -> RedoReport:
    """Preview the redo of the turns that use entities, by group."""
    async with wiring.store(settings, write=False) as store:
        turns = [await _turns_with(store, group, of_group) for group, of_group in entities.items()]
    selection = RedoSelection(groups=tuple(entities), turns=frozenset().union(*turns))
    return await preview_redo(settings, selection, options, clock)


async def _turns_with(
    store: GraphStore, group: GroupId, entities: Collection[str]
) -> frozenset[TurnId]:
    return frozenset(
        record.receipt.turn_id
        for record in await store.commit_records(group)
        if not {*record.mentions, *record.endpoints}.isdisjoint(entities)
    )


def _nothing() -> RedoReport:
    return RedoReport(RedoSelection(turns=frozenset()), exact=False, groups=())
