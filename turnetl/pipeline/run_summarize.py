"""Write the summaries of groups that are still deferred, under the lease of each group."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

from turnetl import wiring
from turnetl.clock import Clock
from turnetl.errors import BadUsage, TurnetlError
from turnetl.graph.port import GraphStore
from turnetl.graph_model import GroupContents
from turnetl.group_names import select_groups
from turnetl.ingestion import lease_owner
from turnetl.ingestion.held_lease import held_lease
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.summarize_report import DeferredSummaries, SummarizeReport, SummaryAudit
from turnetl.llm.embedders.port import Embedder
from turnetl.model import GroupId
from turnetl.pipeline.index import check_graph
from turnetl.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.settings import Settings

if TYPE_CHECKING:  # imports numpy
    from turnetl.ingestion.turn_summaries import SummaryRules

_STAGE = "summarize"


async def summarize(
    settings: Settings,
    clock: Clock,
    groups: Sequence[str] = (),
    *,
    dry_run: bool = False,
    audit: int | None = None,
    progress: Progress = ignore_progress,
) -> SummarizeReport:
    """Write the summaries that are still deferred, as the end of a run writes them.

    The setting `summaries.flush` does not count here. Nothing is embedded and no request is sent;
    no decision of a later turn depends on it.

    Args:
        settings: the graph and its limits.
        clock: returns the current time.
        groups: group ids or project names; all groups if empty.
        dry_run: write nothing, and take no lease.
        audit: also compare at most this many summaries of each group, which turns kept, with new
            ones; with it nothing is written. The embedder of the settings embeds both.
        progress: called after each group.

    Returns:
        The report, also on groups that could not be written: `error` says why.

    Raises:
        BadUsage: an unknown group, or `audit` is below 1.
        GraphBusy: the graph did not respond, or another process writes it.
        GraphUnusable: there is no graph, or it cannot be opened.
    """
    if audit is not None and audit < 1:
        raise BadUsage("`audit` is a number of summaries: at least 1")
    check_graph(settings)
    dry_run = dry_run or audit is not None
    async with AsyncExitStack() as stack:
        audits = None
        if audit is not None:
            embedder = await stack.enter_async_context(wiring.embedder(settings))
            audits = _Audits(embedder, audit)
        store = await stack.enter_async_context(wiring.store(settings, write=not dry_run))
        work = _Work(store, wiring.flush_rules(settings), _run(settings, clock), audits)
        selected, found = select_groups(await store.groups(), groups), list[DeferredSummaries]()
        for group in selected:
            found.append(await (work.preview(group) if dry_run else work.write(group)))
            progress(ProgressUpdate(_STAGE, "groups", len(found), len(selected)))
    return SummarizeReport(tuple(found), is_dry_run=dry_run)


@dataclass(frozen=True, slots=True)
class _Audits:
    """How the summaries of each group are audited."""

    embedder: Embedder
    limit: int


@dataclass(frozen=True, slots=True)
class _Work:
    """Writes the deferred summaries of groups, one group after the other."""

    store: GraphStore
    rules: "SummaryRules"
    run: IngestRun
    audits: _Audits | None

    async def preview(self, group: GroupId) -> DeferredSummaries:
        contents = await self.store.load(group)
        deferred = await self.rules.of_group(contents).deferred()
        return DeferredSummaries(
            group,
            len(deferred.texts),
            is_recorded=_is_recorded(contents),
            audit=await self._audit(contents),
        )

    async def write(self, group: GroupId) -> DeferredSummaries:
        """Write those of a group in one transaction; an error is in the report."""
        profile, found, run = await self.store.profile(group), DeferredSummaries(group), self.run
        if profile is None:
            return found
        try:
            async with held_lease(
                self.store, group, profile, owner=run.owner, clock=run.clock, ttl=run.lease_ttl
            ) as lease:
                contents = await self.store.load(group)
                summaries = self.rules.of_group(contents)
                to_write = len((await summaries.deferred()).texts)
                found = DeferredSummaries(group, to_write, is_recorded=_is_recorded(contents))
                written = await summaries.write_deferred(self.store, lease, run)
        except TurnetlError as error:
            return replace(found, error=str(error), exit_code=error.exit_code)
        return replace(found, written=len(written.texts))

    async def _audit(self, contents: GroupContents) -> SummaryAudit | None:
        if self.audits is None:
            return None
        from turnetl.ingestion.summary_audit import audit_summaries  # noqa: PLC0415 - imports numpy

        embed, limit = self.audits.embedder.embed, self.audits.limit
        return await audit_summaries(contents, self.rules.summariser, embed, limit)


def _is_recorded(contents: GroupContents) -> bool:
    """Return whether turns of the group record summaries, or it has none."""
    return not contents.receipts or any(contents.summaries.values())


def _run(settings: Settings, clock: Clock) -> IngestRun:
    run_id = str(uuid4())
    ttl = timedelta(seconds=settings.lease_seconds)
    return IngestRun(run_id, lease_owner.owner_name(run_id), clock, ttl, prefetch=0)
