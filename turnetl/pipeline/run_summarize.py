"""Write the summaries of groups that are still deferred, by the model of a backfill or by rules."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import GroupContents, GroupProfile, Lease
from turnetl.base.model import GroupId, Usage
from turnetl.base.progress import Progress, ignore_progress
from turnetl.graph.port import GraphStore
from turnetl.ingestion.ingest_report import IngestReport, check_extractor
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.summarize_report import DeferredSummaries, SummarizeReport
from turnetl.llm.costs import amount_of
from turnetl.llm.embedders import Embedder
from turnetl.llm.stack import ModelStack
from turnetl.pipeline.each_group import Keep, each_group, under_lease
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.requested_model import model_of_prompt, warn_of_cost
from turnetl.pipeline.run_options import new_ingest_run
from turnetl.settings import BudgetSettings, Settings

if TYPE_CHECKING:  # imports numpy
    from turnetl.ingestion.turn_summaries import DeferredEstimate, SummaryRules


async def summarize_after(
    ingested: IngestReport, settings: Settings, clock: Clock
) -> SummarizeReport:
    """Write the deferred summaries of the groups of an ingest, with what it left of the budget.

    After an ingest that the budget or the provider stopped nothing is written, and the report has
    no group. A group that was not completed is left to the next run.
    """
    is_stopped = any(group.stop_cause is not None for group in ingested.groups)
    groups = [group.group for group in ingested.groups if group.in_graph and group.error is None]
    budget = _rest(settings.budget, sum(ingested.usage_by_prompt.values(), Usage()))
    if ingested.error is not None or is_stopped or budget is None or not groups:
        return SummarizeReport(())
    return await summarize(settings.model_copy(update={"budget": budget}), clock, groups)


def _rest(budget: BudgetSettings, used: Usage) -> BudgetSettings | None:
    """Return what a run leaves of its budget; None if that is nothing."""
    amount = amount_of(used)
    tokens = None if budget.tokens is None else budget.tokens - amount.tokens
    usd = None if budget.usd is None else budget.usd - amount.usd
    if any(limit is not None and limit <= 0 for limit in (tokens, usd)):
        return None
    return BudgetSettings(tokens=None if tokens is None else int(tokens), usd=usd)


@dataclass(frozen=True, slots=True)
class SummaryWriter:
    rules: "SummaryRules"
    model: str | None = None
    """Provider and model; None: rules write summaries."""
    stack: ModelStack | None = None
    """Of the model."""

    @property
    def usage(self) -> Usage:
        return Usage() if self.stack is None else self.stack.used()

    def state_cost(self, group: GroupId, count: int, estimate: Usage) -> None:
        """Log what the summaries of a group may cost, before the first request."""
        if estimate.calls:
            what = f"summaries of group `{group}`, {count:,}: {estimate.calls:,} requests,"
            warn_of_cost(what, self.model, estimate)


@asynccontextmanager
async def opened_summary_writer(settings: Settings, clock: Clock) -> AsyncIterator[SummaryWriter]:
    if not settings.uses_model:
        yield SummaryWriter(wiring.flush_rules(settings, None))
        return
    from turnetl.summaries.model_summariser import PROMPT  # noqa: PLC0415 - the models

    async with wiring.model_stack(settings, clock) as stack:
        model = wiring.model(settings, stack)
        used, price = model_of_prompt(model, PROMPT, clock)
        try:
            yield SummaryWriter(wiring.flush_rules(settings, model, price), used, stack)
        finally:
            await model.close()


async def summarize(
    settings: Settings,
    clock: Clock,
    groups: Sequence[str] = (),
    *,
    dry_run: bool = False,
    edited: bool = False,
    audit: int | None = None,
    progress: Progress = ignore_progress,
) -> SummarizeReport:
    """Write the summaries that are still deferred, as the end of a run writes them.

    The setting `summaries.flush` does not count here; no decision of a later turn depends on it.
    With an extractor that uses a model, the model writes them; else rules do, without requests.
    A group that could not be written has an error in the report. A dry run takes no lease.

    Args:
        edited: also write those again that were edited by hand.
        audit: also compare at most this many summaries of each group, which turns kept, with new
            ones; with it nothing is written. The embedder of the settings embeds both, and a model
            is asked for new ones, unless it is a dry run.
    """
    if audit is not None and audit < 1:
        raise BadUsage("`audit` is a number of summaries: at least 1")
    check_graph(settings)
    writes = not dry_run and audit is None
    async with AsyncExitStack() as stack:
        writer = await stack.enter_async_context(opened_summary_writer(settings, clock))
        audits = None
        if audit is not None:
            embedder = await stack.enter_async_context(wiring.embedder(settings))
            sends = not (dry_run and writer.model is not None)
            audits = _Audits(embedder, audit, sends=sends)
        store = await stack.enter_async_context(wiring.store(settings, write=writes))
        named = settings.extractor_name if settings.extractor is None else None
        run = new_ingest_run(settings, clock)
        work = _Work(store, writer, run, audits, named, edited)
        found = await each_group(
            map(DeferredSummaries, select_groups(await store.groups(), groups)),
            under_lease(store, run, work.write) if writes else work.preview,
            stage="summarize",
            progress=progress,
            ends_at_limits=True,
        )
        estimate = sum((one.estimate for one in found), Usage())
    return SummarizeReport(
        tuple(found),
        is_dry_run=not writes,
        rewrites_edited=edited,
        model=writer.model,
        usage=estimate if dry_run else writer.usage,
    )


@dataclass(frozen=True, slots=True)
class _Audits:
    embedder: Embedder
    limit: int
    sends: bool
    """Whether requests are sent; else they are estimated."""


@dataclass(frozen=True, slots=True)
class _Work:
    store: GraphStore
    writer: SummaryWriter
    run: IngestRun
    audits: _Audits | None
    unnamed_extractor: str | None
    """The extractor of the settings, if nobody named one."""
    edited: bool
    """Whether summaries that were edited by hand are written again."""

    async def preview(
        self, report: DeferredSummaries, keep: Keep[DeferredSummaries]
    ) -> DeferredSummaries:
        contents = await self._contents(report.group)
        deferred = self.writer.rules.of_group(contents).deferred(edited=self.edited)
        found = replace(_deferred(contents, deferred), estimate=deferred.usage)
        keep(found)
        return await self._audited(found, contents)

    async def write(
        self,
        report: DeferredSummaries,
        keep: Keep[DeferredSummaries],
        lease: Lease,
        _: GroupProfile,
    ) -> DeferredSummaries:
        """Write those of a group in one transaction."""
        contents = await self._contents(report.group)
        summaries = self.writer.rules.of_group(contents)
        deferred = summaries.deferred(edited=self.edited)
        self.writer.state_cost(report.group, deferred.count, deferred.usage)
        found = _deferred(contents, deferred)
        keep(found)
        flush = await summaries.write_deferred(
            self.store, lease, self.run, all_deferred=True, edited=self.edited
        )
        written = flush.written
        found = replace(found, written=len(written.texts))
        keep(found)
        written.all()
        return found

    async def _contents(self, group: GroupId) -> GroupContents:
        contents = await self.store.load(group)
        if self.unnamed_extractor is not None:
            check_extractor(group, contents.receipts, self.unnamed_extractor)
        return contents

    async def _audited(
        self, found: DeferredSummaries, contents: GroupContents
    ) -> DeferredSummaries:
        """Return the report with the audit, or with what it would cost."""
        if self.audits is None:
            return found
        from turnetl.ingestion.turn_summaries import (  # noqa: PLC0415 - imports numpy
            audit_summaries,
            kept_summaries,
        )

        summariser = self.writer.rules.summariser
        kept = kept_summaries(contents, self.audits.limit)
        estimate = summariser.estimate(kept)
        if not self.audits.sends:
            return replace(found, estimate=found.estimate + estimate)
        self.writer.state_cost(found.group, len(kept), estimate)
        return replace(
            found, audit=await audit_summaries(kept, summariser, self.audits.embedder.embed)
        )


def _deferred(contents: GroupContents, deferred: "DeferredEstimate") -> DeferredSummaries:
    """Return the report on a group of which nothing is written yet."""
    # Whether turns of the group record summaries, or it has none.
    is_recorded = not contents.receipts or any(contents.summaries.values())
    return DeferredSummaries(
        contents.group_id, deferred.count, edited=deferred.kept, is_recorded=is_recorded
    )
