"""Merge entities of a group, or split them: a list in the lake, then a redo of turns."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.model import Entity, GroupId, TurnId
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.base.results import described
from turnetl.graph.mirror.group import folded
from turnetl.graph.port import GraphStore
from turnetl.index.persistent import PersistentIndex
from turnetl.ingestion.duplicate_entities import (
    CERTAIN,
    CROWD,
    Duplicate,
    crowded_names,
    find_duplicates,
    with_duplicates,
)
from turnetl.ingestion.merged_entities import (
    MergedEntities,
    MergedEntity,
    merges_named,
    read_merged,
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

    listed: MergedEntities
    """Of the lake, after it."""
    redo: RedoReport
    """Without groups: there is nothing to do."""


@dataclass(frozen=True, slots=True)
class DuplicateReport:
    """Entities that may be one, and what was done about those that are."""

    duplicates: Annotated[
        tuple[Duplicate, ...], described("Pairs of entities, the most certain of a group first.")
    ]
    crowded_names: Annotated[
        int,
        described(
            f"Names that more than {CROWD} entities of a group share: they are not compared."
        ),
    ] = 0
    certain_from: Annotated[float, described("The certainty from which `--yes` merges.")] = CERTAIN
    merged: Annotated[int, described("Entities that this command made part of another one.")] = 0
    unmerged: Annotated[
        tuple[GroupId, ...],
        described("Groups of which not all turns were ingested again, so that they are not done."),
    ] = ()
    redo: Annotated[
        RedoReport | None,
        described("What was ingested again with the entities merged; null without `--yes`."),
    ] = None

    @property
    def certain(self) -> list[Duplicate]:
        """Return the pairs that are merged without a person. One without turns cannot be."""
        return [
            pair
            for pair in self.duplicates
            if pair.certainty >= self.certain_from and pair.merged.turns and not pair.kept_apart
        ]


async def duplicate_entities(
    settings: Settings, *, groups: Sequence[str] = (), progress: Progress = ignore_progress
) -> DuplicateReport:
    """Return the entities of each group that may be one. Holds one group in memory at a time.

    Raises:
        BadUsage: an unknown group.
    """
    check_graph(settings)
    known = read_merged(wiring.lake(settings).files)
    found: list[Duplicate] = []
    crowded = 0
    async with wiring.store(settings, write=False) as store:
        for group in select_groups(await store.groups(), groups):

            def advance(done: int, total: int, group: GroupId = group) -> None:
                progress(ProgressUpdate("compare", group, done, total))

            contents = await store.load(group)
            found += find_duplicates(contents, await store.commit_records(group), advance)
            crowded += crowded_names(contents)
    marked = (replace(pair, kept_apart=bool(known.splits(pair.merge))) for pair in found)
    return DuplicateReport(tuple(marked), crowded)


async def merge_duplicates(
    settings: Settings,
    found: DuplicateReport,
    options: RunOptions,
    clock: Clock,
    *,
    progress: Progress = ignore_progress,
) -> DuplicateReport:
    """Make the pairs one that are certain. If it is killed, the same command continues."""
    known = read_merged(wiring.lake(settings).files)
    listed, new = with_duplicates(known, found.certain)
    plan = MergePlan(listed, await _redo_of(settings, new, options, clock))
    redo = await merge(settings, plan, options, clock, progress=progress)
    done = {group.group for group in redo.groups if group.is_done}
    merged = sum(len(ids) for group, ids in new.items() if group in done)
    return replace(found, merged=merged, unmerged=tuple(sorted(new.keys() - done)), redo=redo)


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
    known = read_merged(wiring.lake(settings).files)
    if one.uuid == other.uuid:
        return MergePlan(known, _nothing())
    new = MergedEntity(one.group_id, one.uuid, one.name, other.uuid, other.name, other.labels)
    entities = {other.group_id: {other.uuid}}
    return MergePlan(known.with_merge(new), await _redo_of(settings, entities, options, clock))


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
    known = read_merged(wiring.lake(settings).files)
    split = merges_named(known.merges, entity, alias)
    if not split and folded(alias) in map(folded, entity.names):
        # The same command, which was stopped.
        split = merges_named(known.kept_apart, entity, alias)
    if not split:
        into = (f"`{one.merged_name}`" for one in known.merges if one.kept == entity.uuid)
        listed = ", ".join(into) or "nothing"
        raise BadUsage(
            f"`{alias}` was not merged into `{entity.name}` (merged: {listed}): another spelling "
            "that turnetl found is no entity of its own"
        )
    entities = {entity.group_id: {entity.uuid}}
    return MergePlan(known.without(split), await _redo_of(settings, entities, options, clock))


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
    write_merged(wiring.lake(settings).files, plan.listed)
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
