"""The report on everything: reads the lake, the index, the graph and the journal.

A part that cannot be read is left out, and recorded as missing with the reason.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Protocol

import polars as pl

from turnetl import episodes, wiring
from turnetl.activity_report.contents import contents
from turnetl.activity_report.knowledge import knowledge, stated_by
from turnetl.activity_report.model import (
    ActivityReport,
    Listed,
    OwnCost,
    PendingTurns,
    ReportFile,
    ReportScope,
)
from turnetl.activity_report.own_cost import own_cost, usage_in_range
from turnetl.activity_report.pending import GroupGaps, noise_counts, pending_turns
from turnetl.activity_report.personal import without_personal_data
from turnetl.activity_report.turns import (
    TurnBook,
    in_range,
    lost_receipts,
    read_lake,
    timeline,
    timeline_rows,
    with_receipts,
)
from turnetl.activity_report.usage import agent_usage, older_archives, subagent_rows
from turnetl.base.clock import Clock
from turnetl.base.errors import GraphUnusable, IndexUnusable, JournalUnusable, Retryable
from turnetl.base.graph_model import Receipt
from turnetl.base.ids import recipe_digest
from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.base.object_url import without_credentials
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.episode_text.passages import prompt_title
from turnetl.graph.migration_phases import migration_message
from turnetl.index.lookup import LookupIndex
from turnetl.index.selection import Selection
from turnetl.ingestion.group import candidate_rows
from turnetl.ingestion.ingest_report import error_messages, stale_part_line
from turnetl.ingestion.plan import COLUMNS, committed_turns, uncommitted_turns
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.reasons import StaleReason
from turnetl.ingestion.run_report import RunsReport
from turnetl.lake import Lake, TurnFile
from turnetl.llm.journal import JournalStats
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.group_plans import turn_files
from turnetl.pipeline.group_status import status
from turnetl.pipeline.index import OpenIndex
from turnetl.pipeline.opened_items import open_index
from turnetl.pipeline.recorded_runs import runs
from turnetl.pipeline.run_options import RunOptions, ingest_scope
from turnetl.settings import Settings
from turnetl.status_report import StatusReport


class MissingParts:
    """The parts of a report that could not be read, by reason."""

    def __init__(self) -> None:
        self._parts: dict[str, list[str]] = {}

    def add(self, reason: object, *parts: str) -> None:
        """Record that parts are missing: plural nouns, and a sentence without its full stop."""
        self._parts.setdefault(str(reason).rstrip("."), []).extend(parts)

    def sentences(self) -> tuple[str, ...]:
        """Return a sentence for each reason, in the order in which they occurred."""
        return tuple(
            f"Not in the report: {', '.join(dict.fromkeys(parts))}, because {reason}."
            for reason, parts in self._parts.items()
        )


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """What a report is asked for."""

    groups: tuple[str, ...] = ()
    """Group ids or project names; all groups if empty."""
    since: datetime | None = None
    """Only turns that started then or later."""
    until: datetime | None = None
    """Only turns that started before."""
    redact_personal: bool = False

    @property
    def is_ranged(self) -> bool:
        """Whether it is about the turns of a time."""
        return self.since is not None or self.until is not None


@dataclass(frozen=True, slots=True)
class ReportSources:
    """What a report is made of, read once. A part that cannot be read is None."""

    rows: pl.DataFrame
    """All turns of the groups."""
    subagents: pl.DataFrame
    """Tokens of subagents that are in no turn of them."""
    receipts: Mapping[GroupId, Sequence[Receipt]]
    damaged: frozenset[GroupId]
    """Groups with a table that cannot be read."""
    index: LookupIndex | None
    status: StatusReport | None


async def opened_index(
    stack: AsyncExitStack,
    settings: Settings,
    clock: Clock,
    progress: Progress,
    missing: MissingParts,
) -> OpenIndex | None:
    """Open the index, brought up to date; None if there is no graph, or it cannot be read."""
    try:
        opened = await stack.enter_async_context(open_index(settings, clock, progress))
    except (GraphUnusable, IndexUnusable, Retryable) as error:
        missing.add(error, "decisions", "entities", "errors")
        return None
    if opened.unread:
        missing.add(opened.unread, "the newest turns of the graph")
    return opened


async def read_status(
    settings: Settings, request: ReportRequest, clock: Clock, missing: MissingParts
) -> StatusReport | None:
    """Return the status of the groups; None if the graph cannot be read."""
    try:
        report = await status(settings, RunOptions(groups=request.groups), clock)
    except (GraphUnusable, Retryable) as error:
        missing.add(error, "cost by project", "missing archives")
        return None
    return report


def report_groups(
    settings: Settings,
    request: ReportRequest,
    report: StatusReport | None,
    opened: OpenIndex | None,
) -> list[GroupId]:
    in_index = (
        [] if opened is None else [one.group_id for one in opened.index.groups() if one.turns]
    )
    in_status = [] if report is None else [one.group for one in report.groups]
    existing = sorted({*wiring.lake(settings).groups(), *in_status, *in_index})
    return select_groups(existing, request.groups)


async def read_turns(
    settings: Settings,
    groups: Sequence[GroupId],
    opened: OpenIndex | None,
    report: StatusReport | None,
    missing: MissingParts,
) -> ReportSources:
    """Read the turns of the lake, and from the index what the graph holds of them."""
    lake, damaged = wiring.lake(settings), set[GroupId]()

    def on_damaged(group: GroupId, error: str) -> None:
        damaged.add(group)
        missing.add(error, f"turns of group `{group}`")

    files = {group: found for group, found in turn_files(lake).items() if group in groups}
    unfiltered = {
        group for group, found in files.items() if not episodes.holds_turns(lake, group, found)
    }
    rows = read_lake(lake, [group for group in groups if group in files], unfiltered, on_damaged)
    index = None if opened is None else opened.index
    receipts = {} if index is None else await _receipts(settings, groups)
    all_receipts = [receipt for of_group in receipts.values() for receipt in of_group]
    lost = [receipt.turn_id for receipt in lost_receipts(rows, all_receipts)]
    prompts = {} if index is None else _prompts(index, lost)
    rows = with_receipts(rows, all_receipts, prompts)
    subagents = _subagents(tuple(chain.from_iterable(files.values())), missing)
    return ReportSources(rows, subagents, receipts, frozenset(damaged), index, report)


def _subagents(files: Sequence[TurnFile], missing: MissingParts) -> pl.DataFrame:
    if number := older_archives(files):
        archives = "archive" if number == 1 else "archives"
        missing.add(
            "an earlier version of turnetl did not record them: run `turnetl parse` with these "
            "archives again, as far as they exist",
            f"tokens of the cache, and some of subagents, in {number} {archives}",
        )
    return subagent_rows(files)


async def _receipts(
    settings: Settings, groups: Sequence[GroupId]
) -> dict[GroupId, Sequence[Receipt]]:
    with wiring.index_snapshot(settings) as snapshot:
        if snapshot is None:
            return {}
        return {group: await snapshot.receipts(group) for group in groups}


def _prompts(index: LookupIndex, turn_ids: Sequence[TurnId]) -> dict[str, str]:
    """Return the first line of the prompts of these turns."""
    turns = index.turns(index.lookup().turn_keys(turn_ids).values()).values()
    return {turn.receipt.turn_id: prompt_title(turn.text) for turn in turns}


def read_journal(settings: Settings, clock: Clock, missing: MissingParts) -> JournalStats | None:
    try:
        with wiring.journal(settings, clock) as journal:
            return journal.stats()
    except JournalUnusable as error:
        missing.add(error, "cost by prompt")
        return None


async def read_runs(
    settings: Settings, request: ReportRequest, groups: Sequence[GroupId], missing: MissingParts
) -> RunsReport | None:
    """Return the runs that wrote the groups; None if the graph cannot be read."""
    try:
        found = await runs(settings)
    except (GraphUnusable, Retryable) as error:
        missing.add(error, "runs")
        return None
    of_groups = found.runs
    if request.groups:
        of_groups = tuple(one for one in found.runs if set(groups).intersection(one.run.groups))
    return RunsReport(of_groups, len(of_groups))


_PARTS = 5
"""Of the progress: index, status, turns, facts, cost."""


class ReportPage(Protocol):
    """A page that shows a report."""

    def check(self, path: Path, /) -> None:
        """Check that the page can be written, before the report is made."""

    def write(self, path: Path, report: ActivityReport, /) -> int:
        """Write the page, and return its bytes."""


async def write_report(
    path: Path,
    settings: Settings,
    clock: Clock,
    request: ReportRequest,
    page: ReportPage,
    *,
    progress: Progress = ignore_progress,
) -> ReportFile:
    """Write the report on everything as one page; an earlier one is replaced."""
    page.check(path)
    report = await activity_report(settings, clock, request, progress=progress)
    held = report.contents
    return ReportFile(
        path=path,
        bytes=page.write(path, report),
        turns=held.turns,
        sessions=held.sessions,
        projects=held.projects.total,
        tokens=report.usage.total,
        missing=report.missing,
    )


async def activity_report(
    settings: Settings,
    clock: Clock,
    request: ReportRequest,
    *,
    progress: Progress = ignore_progress,
) -> ActivityReport:
    """Return what the lake, the graph and the journal hold. Writes nothing but the search index."""
    missing = MissingParts()
    step = _steps(progress)
    async with AsyncExitStack() as stack:
        opened = await opened_index(stack, settings, clock, progress, missing)
        step("index")
        report = await read_status(settings, request, clock, missing)
        step("status")
        groups = report_groups(settings, request, report, opened)
        sources = await read_turns(settings, groups, opened, report, missing)
        step("turns")
        made = _report(settings, clock(), request, groups, sources)
        step("facts")
    cost = own_cost(
        read_journal(settings, clock, missing),
        _usage_by_group(request, sources, missing),
        await read_runs(settings, request, groups, missing),
    )
    step("cost")
    made = replace(made, own_cost=cost, missing=missing.sentences())
    if not request.redact_personal:
        return made
    with_persons = settings.model_copy(update={"redact_pii": True})
    return without_personal_data(made, wiring.redactor(with_persons, stores=False))


def _usage_by_group(
    request: ReportRequest, sources: ReportSources, missing: MissingParts
) -> dict[GroupId, Usage]:
    """Return the usage of the turns in the graph that the report is about."""
    if not request.is_ranged:
        groups = () if sources.status is None else sources.status.groups
        return {one.group: one.usage for one in groups if one.usage is not None}
    if sources.index is None and sources.status is not None:
        missing.add("the search index could not be read", "cost by project")
    return usage_in_range(sources.receipts, request.since, request.until)


def _report(
    settings: Settings,
    now: datetime,
    request: ReportRequest,
    groups: Sequence[GroupId],
    sources: ReportSources,
) -> ActivityReport:
    """Return the report but for its cost and for what is missing."""
    rows, book = in_range(sources.rows, request.since, request.until), TurnBook(sources.rows)
    selection = Selection(groups=tuple(groups), since=request.since, until=request.until)
    index = sources.index if groups else None
    shown = timeline_rows(rows)["turn_id"].to_list()
    decisions, problems = ({}, {}) if index is None else stated_by(index, shown, book)
    return ActivityReport(
        scope=ReportScope(
            lake=str(settings.lake_url or settings.lake),
            graph=without_credentials(settings.graph_url),
            groups=tuple(groups) if request.groups else (),
            since=request.since,
            until=request.until,
            made_at=now,
            redacts_persons=request.redact_personal,
        ),
        missing=(),
        contents=contents(rows),
        timeline=timeline(rows, decisions, problems),
        knowledge=None if index is None else knowledge(index, selection, book),
        noise=noise_counts(
            rows, {rule.name: rule.description for rule in wiring.noise_rules(settings)}
        ),
        usage=agent_usage(rows, in_range(sources.subagents, request.since, request.until)),
        own_cost=OwnCost((), 0.0, (), Listed()),
        pending=_pending(
            settings, now, request, groups=groups, sources=sources, rows=rows, book=book
        ),
    )


def _pending(
    settings: Settings,
    now: datetime,
    request: ReportRequest,
    *,
    groups: Sequence[GroupId],
    sources: ReportSources,
    rows: pl.DataFrame,
    book: TurnBook,
) -> PendingTurns:
    lake, of_groups = wiring.lake(settings), sources.status.groups if sources.status else ()
    readable = [group for group in groups if group not in sources.damaged]
    return pending_turns(
        [_group_turns(settings, now, lake, group, sources) for group in readable],
        rows,
        book,
        is_ranged=request.is_ranged,
        stale_parts=[
            f"{group.group}: {stale_part_line(part).strip('()')}"
            for group in of_groups
            for part in group.stale_parts
        ],
        missing_archives=sorted({name for group in of_groups for name in group.missing_archives}),
        messages=[
            *error_messages(of_groups),
            *(migration_message(group.migration) for group in of_groups if group.migration),
        ],
    )


def _group_turns(
    settings: Settings, now: datetime, lake: Lake, group: GroupId, sources: ReportSources
) -> GroupGaps:
    """Compare the episodes of a group with what the graph holds of it."""
    scope = ingest_scope(settings, RunOptions(), now)
    with lake.reading_episodes(group):
        rows = candidate_rows(lake, group, scope).select(*COLUMNS).collect()
    receipts = {receipt.turn_id: receipt for receipt in sources.receipts.get(group, ())}
    entries = Quarantine(lake.files, group).entries()
    failed = {TurnId(entry.turn_id) for entry in entries}
    stale: dict[StaleReason, list[TurnId]] = {}
    for turn in committed_turns(rows, receipts, _recipe(settings, group)):
        if turn.stale is not None:
            stale.setdefault(turn.stale, []).append(turn.receipt.turn_id)
    uncommitted = uncommitted_turns(rows, receipts.keys(), failed, scope)
    waiting = [entry for entry in entries if entry.turn_id not in receipts]
    return GroupGaps(group, uncommitted, stale, waiting)


def _recipe(settings: Settings, group: GroupId) -> Callable[[str], str] | None:
    """Return the function from a kind of turn to its recipe today; None if it is not known."""
    recipe = wiring.recipe(settings)
    if recipe is None:
        return None
    return cache(lambda kind: recipe_digest(recipe(group, kind)))


def _steps(progress: Progress) -> Callable[[str], None]:
    """Return a function that reports that one more part is done."""
    numbers = count(1)
    return lambda part: progress(ProgressUpdate("report", part, next(numbers), _PARTS))
