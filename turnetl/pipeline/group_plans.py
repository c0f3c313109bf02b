"""The plans of all groups of a run: their episodes compared with what the graph holds."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from turnetl import episodes, wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import Retryable, TableUnusable, TurnetlError
from turnetl.base.model import GroupId
from turnetl.base.shard import Shard
from turnetl.graph.port import ReceiptStore
from turnetl.ingestion import group as ingesting
from turnetl.ingestion.group import GroupPlan
from turnetl.ingestion.ingest_report import GroupReport, IngestReport
from turnetl.ingestion.reasons import PendingReason
from turnetl.lake import Lake, TurnFile
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.run_options import RunOptions, ingest_scope, settings_for_run
from turnetl.settings import Settings

TurnFiles = Mapping[GroupId, Sequence[TurnFile]]
"""The turns files of each group of the lake, with their metadata."""

_NOT_FILTERED = "not filtered yet, or turns, rules or templates changed since; run `turnetl filter`"
_DAMAGED = "a turns file is damaged; `turnetl verify` names it, and says what to do"


@dataclass(frozen=True, slots=True)
class PlannedGroups:
    """The groups of a run, planned once: the report before the run, and the plans to carry out."""

    report: IngestReport
    plans: Mapping[GroupId, GroupPlan]
    """Without groups for which the graph was busy: an ingest plans these when it runs them."""


def turn_files(lake: Lake, shard: Shard | None = None) -> TurnFiles:
    """Read the metadata of the turns files, of a shard only its own; a run does this once."""
    groups = lake.groups()
    owned = {group for group in groups if shard is None or shard.owns(group)}
    files: dict[GroupId, list[TurnFile]] = {group: [] for group in groups}
    for file in lake.turn_files_of(owned):
        files[GroupId(file.path.parent.name)].append(file)
    return files


async def plan_groups(
    files: TurnFiles, settings: Settings, options: RunOptions, clock: Clock
) -> PlannedGroups:
    """Plan each selected group as `plan_groups_in`, and verify its episodes table completely."""
    async with wiring.store(settings, write=False) as store:
        return await plan_groups_in(store, files, settings, options, clock, verify=True)


async def plan_groups_in(
    store: ReceiptStore,
    files: TurnFiles,
    settings: Settings,
    options: RunOptions,
    clock: Clock,
    *,
    verify: bool = False,
    others: Sequence[GroupId] = (),
) -> PlannedGroups:
    """Plan each selected group with this graph, or with its index.

    A group for which it is busy, or whose episodes table is damaged, stays without a plan. With
    `verify`, a damaged table is created again, except in a dry run; otherwise only what is read is
    verified. `others` are groups without a turn in the graph.
    """
    lake, scope = wiring.lake(settings), ingest_scope(settings, options, clock())
    recipe, filters = wiring.recipe(settings_for_run(settings, options)), wiring.filters(settings)
    existing = sorted({*files, *await store.groups(), *others})
    plans: dict[GroupId, GroupPlan] = {}
    reports: list[GroupReport] = []
    for group in select_groups(existing, options.groups, shard=options.shard):
        try:
            if verify:
                _verify(lake, group, files.get(group, ()), filters, options)
            plan = await ingesting.plan_group(
                group, lake, store, scope, recipe=recipe, context_turns=settings.context_turns
            )
            reports.append(await ingesting.group_status(plan, lake, store))
            plans[group] = plan
        except (Retryable, TableUnusable) as error:
            reports.append(ingesting.unplanned_report(group, lake, error))
    selected = {report.group for report in reports}
    outdated = {
        group
        for group, of_group in files.items()
        if group in selected and not episodes.is_current(lake, group, of_group, filters)
    }
    groups = (
        replace(
            _not_ready(report, lake, files[report.group]) if report.group in outdated else report,
            unjoined_archives=episodes.unjoined_archives(lake, report.group),
        )
        for report in reports
    )
    return PlannedGroups(IngestReport(None, tuple(groups)), plans)


def _verify(
    lake: Lake,
    group: GroupId,
    files: Sequence[TurnFile],
    filters: episodes.Filters,
    options: RunOptions,
) -> None:
    """Verify a group's episodes table; create it again if it is damaged, except in a dry run."""
    if options.dry_run:
        lake.verify_episodes(group)
    else:
        episodes.repair(lake, group, files, filters)


def refused_report(settings: Settings, options: RunOptions, error: TurnetlError) -> IngestReport:
    """Return the report of a run whose graph cannot be opened: all turns of the lake are pending.

    It has no groups if the lake cannot be read either, or if only the graph knows the names.
    """
    lake, groups = wiring.lake(settings), tuple[GroupReport, ...]()
    with suppress(TurnetlError):
        selected = select_groups(sorted(lake.groups()), options.groups, shard=options.shard)
        groups = tuple(ingesting.unread_report(group, lake) for group in selected)
    return IngestReport(None, groups, error=str(error), exit_code=error.exit_code)


def _not_ready(report: GroupReport, lake: Lake, files: Sequence[TurnFile]) -> GroupReport:
    """Return the report on an outdated group, which no run may ingest."""
    new = _turns_without_episode(report, lake, files)
    unfiltered = {PendingReason.UNFILTERED: report.pending + new} if report.pending + new else {}
    known = not report.retryable
    is_damaged = bool(set(lake.turn_paths(report.group)) - {file.path for file in files})
    return replace(
        report,
        turns=report.turns + new,
        pending_reasons=unfiltered if known else report.pending_reasons,
        error=_DAMAGED if is_damaged else _NOT_FILTERED,
        exit_code=1,
        retryable=False,
    )


def _turns_without_episode(report: GroupReport, lake: Lake, files: Sequence[TurnFile]) -> int:
    """Return the number of turns that neither the episodes table nor the graph has."""
    known = report.turns + report.missing_from_lake
    rows: int = sum(file.metadata.turns for file in files)
    if rows <= known:
        return 0
    try:
        # Fewer than the rows if archives share turns.
        return max(0, lake.count_turns(report.group) - known)
    except TableUnusable:
        return rows - known
