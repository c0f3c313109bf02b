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
    ReportFile,
    ReportScope,
)
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
from turnetl.activity_report.usage import agent_usage, own_cost, subagent_rows, usage_in_range
from turnetl.base.batched import grouped
from turnetl.base.clock import Clock
from turnetl.base.errors import GraphUnusable, IndexUnusable, JournalUnusable, Retryable
from turnetl.base.graph_model import Receipt
from turnetl.base.ids import recipe_digest
from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.base.object_url import without_credentials
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.episode_text.passages import prompt_title
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.ingestion.group import candidate_rows
from turnetl.ingestion.plan import COLUMNS, committed_turns, uncommitted_turns
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.run_report import RunsReport
from turnetl.lake import Lake, TurnFile
from turnetl.llm.journal import JournalStats
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.group_plans import turn_files
from turnetl.pipeline.group_status import status
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
class _Sources:
    """What a report is made of, read once. A part that cannot be read is None."""

    lake: Lake
    groups: Sequence[GroupId]
    rows: pl.DataFrame
    """All turns of the groups."""
    subagents: pl.DataFrame
    """Tokens of subagents that are in no turn of them."""
    receipts: Mapping[GroupId, Sequence[Receipt]]
    damaged: frozenset[GroupId]
    """Groups with a table that cannot be read."""
    index: PersistentIndex | None
    status: StatusReport | None


@dataclass(frozen=True, slots=True)
class _Reader:
    settings: Settings
    request: ReportRequest
    clock: Clock
    missing: MissingParts

    async def index(self, stack: AsyncExitStack, progress: Progress) -> PersistentIndex | None:
        """Open the index, brought up to date; None if there is no graph."""
        try:
            opened = await stack.enter_async_context(
                open_index(self.settings, self.clock, progress)
            )
        except (GraphUnusable, IndexUnusable, Retryable) as error:
            self.missing.add(error, "decisions", "entities", "errors")
            return None
        if opened.unread:
            self.missing.add(opened.unread, "the newest turns of the graph")
        return opened.index

    async def status(self) -> StatusReport | None:
        try:
            return await status(self.settings, RunOptions(groups=self.request.groups), self.clock)
        except (GraphUnusable, Retryable) as error:
            self.missing.add(error, "cost by project", "missing archives")
            return None

    async def sources(self, index: PersistentIndex | None, report: StatusReport | None) -> _Sources:
        """Read the turns of the lake, and from the index what the graph holds of them."""
        lake, damaged = wiring.lake(self.settings), set[GroupId]()

        def on_damaged(group: GroupId, error: str) -> None:
            damaged.add(group)
            self.missing.add(error, f"turns of group `{group}`")

        groups = self._groups(lake, index, report)
        files = {group: found for group, found in turn_files(lake).items() if group in groups}
        unfiltered = {
            group for group, found in files.items() if not episodes.holds_turns(lake, group, found)
        }
        in_lake = [group for group in groups if group in files]
        rows = read_lake(lake, in_lake, unfiltered, on_damaged)
        receipts = {} if index is None else await _receipts(self.settings, groups)
        all_receipts = [receipt for of_group in receipts.values() for receipt in of_group]
        lost = [receipt.turn_id for receipt in lost_receipts(rows, all_receipts)]
        prompts = {} if index is None else _prompts(index, lost)
        rows = with_receipts(rows, all_receipts, prompts)
        subagents = self._subagents(tuple(chain.from_iterable(files.values())))
        return _Sources(lake, groups, rows, subagents, receipts, frozenset(damaged), index, report)

    def _groups(
        self, lake: Lake, index: PersistentIndex | None, report: StatusReport | None
    ) -> list[GroupId]:
        in_index = [] if index is None else [one.group_id for one in index.groups() if one.turns]
        in_status = [] if report is None else [one.group for one in report.groups]
        existing = sorted({*lake.groups(), *in_status, *in_index})
        return select_groups(existing, self.request.groups)

    def _subagents(self, files: Sequence[TurnFile]) -> pl.DataFrame:
        if number := sum(not file.metadata.tokens for file in files):
            archives = "archive" if number == 1 else "archives"
            self.missing.add(
                "an earlier version of turnetl did not record them: run `turnetl parse` with these "
                "archives again, as far as they exist",
                f"tokens of the cache, and some of subagents, in {number} {archives}",
            )
        return subagent_rows(files)

    def journal(self) -> JournalStats | None:
        try:
            with wiring.journal(self.settings, self.clock) as journal:
                return journal.stats()
        except JournalUnusable as error:
            self.missing.add(error, "cost by prompt")
            return None

    async def runs(self, groups: Sequence[GroupId]) -> RunsReport | None:
        """Return the runs that wrote the groups."""
        try:
            found = await runs(self.settings)
        except (GraphUnusable, Retryable) as error:
            self.missing.add(error, "runs")
            return None
        of_groups = found.runs
        if self.request.groups:
            wrote = set(groups)
            of_groups = tuple(one for one in found.runs if wrote.intersection(one.run.groups))
        return RunsReport(of_groups, len(of_groups))

    def usage_by_group(self, sources: _Sources) -> dict[GroupId, Usage]:
        """Return the usage of the turns in the graph that the report is about."""
        if not self.request.is_ranged:
            groups = () if sources.status is None else sources.status.groups
            return {one.group: one.usage for one in groups if one.usage is not None}
        if sources.index is None and sources.status is not None:
            self.missing.add("the search index could not be read", "cost by project")
        return usage_in_range(sources.receipts, self.request.since, self.request.until)


async def _receipts(
    settings: Settings, groups: Sequence[GroupId]
) -> dict[GroupId, Sequence[Receipt]]:
    with wiring.index_snapshot(settings) as snapshot:
        if snapshot is None:
            return {}
        return {group: await snapshot.receipts(group) for group in groups}


def _prompts(index: PersistentIndex, turn_ids: Sequence[TurnId]) -> dict[str, str]:
    """Return the first line of the prompts of these turns."""
    turns = index.turns(index.lookup().turn_keys(turn_ids).values()).values()
    return {turn.receipt.turn_id: prompt_title(turn.text) for turn in turns}


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
    missing, step = MissingParts(), _steps(progress)
    reader = _Reader(settings, request, clock, missing)
    async with AsyncExitStack() as stack:
        index = await reader.index(stack, progress)
        step("index")
        report = await reader.status()
        step("status")
        sources = await reader.sources(index, report)
        step("turns")
        made = _report(settings, clock(), request, sources)
        step("facts")
    by_prompt, by_group = reader.journal(), reader.usage_by_group(sources)
    cost = own_cost(by_prompt, by_group, await reader.runs(sources.groups))
    step("cost")
    made = replace(made, own_cost=cost, missing=missing.sentences())
    if not request.redact_personal:
        return made
    with_persons = settings.model_copy(update={"redact_pii": True})
    return without_personal_data(made, wiring.redactor(with_persons, stores=False))


def _report(
    settings: Settings, now: datetime, request: ReportRequest, sources: _Sources
) -> ActivityReport:
    """Return the report but for its cost and for what is missing."""
    since, until = request.since, request.until
    rows, book = in_range(sources.rows, since, until), TurnBook(sources.rows)
    groups = tuple(sources.groups)
    selection = Selection(groups=groups, since=since, until=until)
    index = sources.index if groups else None
    shown = timeline_rows(rows)["turn_id"].to_list()
    decisions, problems = ({}, {}) if index is None else stated_by(index, shown, book)
    return ActivityReport(
        scope=ReportScope(
            lake=str(settings.lake_url or settings.lake),
            graph=without_credentials(settings.graph_url),
            groups=groups if request.groups else (),
            since=since,
            until=until,
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
        usage=agent_usage(rows, in_range(sources.subagents, since, until)),
        own_cost=OwnCost((), 0.0, (), Listed()),
        pending=pending_turns(
            _gaps(settings, now, sources),
            rows,
            book,
            is_ranged=request.is_ranged,
            statuses=() if sources.status is None else sources.status.groups,
        ),
    )


def _gaps(settings: Settings, now: datetime, sources: _Sources) -> list[GroupGaps]:
    """Compare the episodes of each group with what the graph holds of it."""
    readable = [group for group in sources.groups if group not in sources.damaged]
    return [
        _group_gaps(settings, sources.lake, now, group, sources.receipts.get(group, ()))
        for group in readable
    ]


def _group_gaps(
    settings: Settings, lake: Lake, now: datetime, group: GroupId, committed: Sequence[Receipt]
) -> GroupGaps:
    scope = ingest_scope(settings, RunOptions(), now)
    with lake.reading_episodes(group):
        rows = candidate_rows(lake, group, scope).select(*COLUMNS).collect()
    receipts = {receipt.turn_id: receipt for receipt in committed}
    entries = Quarantine(lake.files, group).entries()
    failed = {TurnId(entry.turn_id) for entry in entries}
    turns = committed_turns(rows, receipts, _recipe(settings, group))
    stale = grouped((one.stale, one.receipt.turn_id) for one in turns if one.stale is not None)
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
    numbers = count(1)
    return lambda part: progress(ProgressUpdate("report", part, next(numbers), _PARTS))
