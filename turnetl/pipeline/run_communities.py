"""Build the communities of groups: plan under the lease, then write batch by batch."""

import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.graph_model import CommunityBatch, GroupProfile, Lease
from turnetl.base.model import GroupId, Usage
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.base.text import plural
from turnetl.graph.port import GraphStore
from turnetl.ingestion.community_build import (
    CommunityBuild,
    CommunityReport,
    GroupCommunities,
    planned,
    write_communities,
)
from turnetl.ingestion.held_lease import held_lease
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price
from turnetl.pipeline.each_group import Keep, each_group, under_lease
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.requested_model import model_of_prompt, requested_model, warn_of_cost
from turnetl.pipeline.run_options import new_ingest_run
from turnetl.settings import Settings
from turnetl.summaries.communities import (
    Algorithm,
    CommunityPlan,
    CommunityWriter,
    RuleCommunityWriter,
    check_clustering,
    plan_communities,
)
from turnetl.summaries.community_naming import PROMPT, ModelCommunityWriter, estimate_usage


@dataclass(frozen=True, slots=True)
class OpenedWriter:
    """A writer, with what it costs."""

    writer: CommunityWriter
    model: str | None = None
    """The one of the prompt, if there are several; None: rules describe communities."""
    price: Price | None = None
    meter: Meter | None = None
    """Of the model."""

    @property
    def usage(self) -> Usage:
        return Usage() if self.meter is None else self.meter.total

    @property
    def by_rules(self) -> int:
        """Communities that the model should have described and rules did."""
        return self.writer.missing if isinstance(self.writer, ModelCommunityWriter) else 0

    def estimate(self, plan: CommunityPlan) -> Usage:
        """Return what the plan would use if no response is in the journal."""
        return Usage() if self.model is None else estimate_usage(plan.missing, self.price)

    def state_cost(self, plan: CommunityPlan) -> None:
        """Log what the requests of the plan may cost, before the first of them."""
        if self.model is None or not plan.missing:
            return
        estimate = self.estimate(plan)
        communities = plural(len(plan.missing), "community", "communities")
        requests = plural(estimate.calls, "request")
        what = f"the names and summaries of {communities} of group `{plan.group}`: {requests},"
        warn_of_cost(what, self.model, estimate)


@asynccontextmanager
async def opened_writer(settings: Settings, clock: Clock) -> AsyncIterator[OpenedWriter]:
    if not settings.uses_model:
        yield OpenedWriter(RuleCommunityWriter())
        return
    async with requested_model(
        settings,
        clock,
        purpose="the extractor describes communities",
        alternative="use `--extractor structural`",
    ) as (model, meter):
        yield OpenedWriter(
            ModelCommunityWriter(model), *model_of_prompt(model, PROMPT, clock), meter
        )


@dataclass(frozen=True, slots=True)
class CommunityOptions:
    """What a build of communities does."""

    groups: tuple[str, ...] = ()
    """Group ids or project names; all groups if empty."""
    algorithm: Algorithm = Algorithm.LEIDEN
    """Also as text: `leiden` or `label_propagation`."""
    resolution: float = 1.0
    """Positive; a higher one makes Leiden find more and smaller communities."""
    everything: bool = False
    """Write the communities again whose members did not change."""
    max_seconds: float | None = None
    """After which no further batch is begun; None: no limit."""
    dry_run: bool = False
    """Write nothing and send no request."""


async def build_communities(
    settings: Settings,
    options: CommunityOptions,
    clock: Clock,
    *,
    progress: Progress = ignore_progress,
    seconds: Callable[[], float] = time.monotonic,
) -> CommunityReport:
    """Build the communities of the groups of the graph; only those are written that changed.

    With an extractor that uses a model, the model names and summarises them; else rules do, which
    costs nothing. A group that could not be finished has an error in the report. `progress` is
    called after each batch; `seconds` is a clock for `max_seconds` that never goes back.
    """
    check_clustering(options.algorithm, options.resolution)
    check_graph(settings)
    end = None if options.max_seconds is None else seconds() + options.max_seconds
    async with AsyncExitStack() as stack:
        writer = await stack.enter_async_context(opened_writer(settings, clock))
        store = await stack.enter_async_context(wiring.store(settings, write=not options.dry_run))
        builder = _Builder(
            store, settings, options, clock, writer, lambda: end is not None and seconds() >= end
        )
        selected = select_groups(await store.groups(), options.groups)
        if options.dry_run:
            return await builder.preview(selected)
        return await builder.build(selected, progress)


async def remove_communities(settings: Settings, groups: Collection[GroupId], clock: Clock) -> None:
    """Remove all communities of these groups: their texts may quote what leaves the graph."""
    run = new_ingest_run(settings, clock)
    async with wiring.store(settings, write=True) as store:
        for group in sorted(groups):
            profile, found = await store.profile(group), await store.communities(group)
            if profile is None or not found:
                continue
            batch = CommunityBatch(tuple(one.uuid for one in found), ())
            async with held_lease(store, group, profile, run) as lease:
                await store.write_communities(lease, batch, now=clock(), ttl=run.lease_ttl)


@dataclass(frozen=True, slots=True)
class _Builder:
    store: GraphStore
    settings: Settings
    options: CommunityOptions
    clock: Clock
    writer: OpenedWriter
    is_out_of_time: Callable[[], bool]

    async def preview(self, groups: Sequence[GroupId]) -> CommunityReport:
        plans = [await self._plan(group) for group in groups]
        usage = sum((self.writer.estimate(plan) for plan in plans), Usage())
        return self._report(tuple(map(planned, plans)), usage)

    async def build(self, groups: Sequence[GroupId], progress: Progress) -> CommunityReport:
        run = new_ingest_run(self.settings, self.clock)

        async def build_group(
            _: GroupCommunities, keep: Keep[GroupCommunities], lease: Lease, profile: GroupProfile
        ) -> GroupCommunities:
            def advance(so_far: GroupCommunities) -> None:
                keep(so_far)
                progress(
                    ProgressUpdate("communities", so_far.group, so_far.written, so_far.to_write)
                )

            async with wiring.group_embedder(
                self.settings, profile, "to build its communities", self.writer.meter
            ) as embedder:
                plan = await self._plan(lease.group_id)
                advance(planned(plan))
                self.writer.state_cost(plan)
                build = CommunityBuild(
                    self.store, self.writer.writer, embedder.embed, run, self.is_out_of_time
                )
                return await write_communities(build, lease, plan, advance)

        building = under_lease(self.store, run, build_group)

        async def work(report: GroupCommunities, keep: Keep[GroupCommunities]) -> GroupCommunities:
            if self.is_out_of_time():
                return planned(await self._plan(report.group))
            return await building(report, keep)

        found = await each_group(map(GroupCommunities, groups), work, ends_at_limits=True)
        return self._report(tuple(found), self.writer.usage)

    async def _plan(self, group: GroupId) -> CommunityPlan:
        contents = await self.store.load(group)
        # A rollback of the migration of the group could not restore them.
        foreign = {
            uuid
            for migration in await self.store.migrations()
            if migration.group_id == group
            for uuid in migration.communities
        }
        existing = await self.store.communities(group)
        return plan_communities(
            group,
            contents.entities,
            contents.facts,
            [one for one in existing if one.uuid not in foreign],
            self.options.algorithm,
            resolution=self.options.resolution,
            everything=self.options.everything,
            is_out_of_time=self.is_out_of_time,
        )

    def _report(self, groups: tuple[GroupCommunities, ...], usage: Usage) -> CommunityReport:
        is_cut = self.is_out_of_time() and any(not group.is_complete for group in groups)
        return CommunityReport(
            groups,
            is_dry_run=self.options.dry_run,
            model=self.writer.model,
            by_rules=self.writer.by_rules,
            usage=usage,
            is_out_of_time=is_cut and not self.options.dry_run,
        )
