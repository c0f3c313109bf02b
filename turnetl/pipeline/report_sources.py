"""What a report is made of: read from the lake, the index, the graph and the journal.

A part that cannot be read is left out, and recorded as missing with the reason.
"""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

import polars as pl

from turnetl import episodes, wiring
from turnetl.activity_report.subagents import older_archives, subagent_rows
from turnetl.activity_report.turns import lost_receipts, read_lake, with_receipts
from turnetl.base.clock import Clock
from turnetl.base.errors import GraphUnusable, IndexUnusable, JournalUnusable, Retryable
from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId, TurnId
from turnetl.base.progress import Progress
from turnetl.episode_text.passages import prompt_title
from turnetl.index.lookup import LookupIndex
from turnetl.ingestion.run_report import RunsReport
from turnetl.lake import TurnFile
from turnetl.llm.journal import JournalStats
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.group_plans import turn_files
from turnetl.pipeline.group_status import status
from turnetl.pipeline.index import OpenIndex
from turnetl.pipeline.opened_items import open_index
from turnetl.pipeline.recorded_runs import runs
from turnetl.pipeline.run_options import RunOptions
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
    """Return the groups of the report."""
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
    """Return the tokens of subagents that are in no turn."""
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
