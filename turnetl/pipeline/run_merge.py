"""Merge two entities of a group, or split them: a list in the lake, then a redo of turns."""

from collections.abc import Sequence
from dataclasses import dataclass

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.model import Entity, GroupId, TurnId
from turnetl.base.progress import Progress, ignore_progress
from turnetl.index.persistent import PersistentIndex
from turnetl.ingestion.merged_entities import (
    MergedEntity,
    merges_named,
    read_merged,
    with_merge,
    write_merged,
)
from turnetl.ingestion.redo_report import RedoReport, RedoSelection
from turnetl.pipeline.history import group_ids
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
    return MergePlan(after, await _redo_of(settings, other, options, clock))


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
    return MergePlan(after, await _redo_of(settings, entity, options, clock))


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
    settings: Settings, entity: Entity, options: RunOptions, clock: Clock
) -> RedoReport:
    turns = await _turns_with(settings, entity.group_id, entity.uuid)
    selection = RedoSelection(groups=(entity.group_id,), turns=turns)
    return await preview_redo(settings, selection, options, clock)


async def _turns_with(settings: Settings, group: GroupId, entity: str) -> frozenset[TurnId]:
    async with wiring.store(settings, write=False) as store:
        return frozenset(
            record.receipt.turn_id
            for record in await store.commit_records(group)
            if entity in record.mentions or entity in record.endpoints
        )


def _nothing() -> RedoReport:
    return RedoReport(RedoSelection(turns=frozenset()), exact=False, groups=())
