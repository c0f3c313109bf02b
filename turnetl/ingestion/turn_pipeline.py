"""The turns of one group into the graph, oldest first: extract ahead, resolve, embed, commit.

A turn is either committed completely or not at all, so a run may be killed at any point and
repeated.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    aclosing,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from turnetl.base.errors import BadTurn
from turnetl.base.graph_model import GroupProfile, Lease, Receipt
from turnetl.base.ids import recipe_digest
from turnetl.base.model import Episode, GroupId, TurnId
from turnetl.base.reason import add_counts
from turnetl.extraction.port import Extractor
from turnetl.graph.port import TurnStore
from turnetl.ingestion.admission import PrefetchedTurn, TurnAdmission, prefetch_turns, with_context
from turnetl.ingestion.commit import (
    MAX_CONSECUTIVE_FAILURES,
    MirroredGroup,
    ResolvedTurn,
    extract_turn,
    invalidated_facts,
    resolve_turn,
    too_many_failures,
)
from turnetl.ingestion.held_lease import held_lease
from turnetl.ingestion.ingest_report import Invalidation, check_extractor
from turnetl.ingestion.ingest_run import IngestProgress, IngestRun
from turnetl.ingestion.quarantine import Quarantine, entry_of
from turnetl.llm.costs import charged_to
from turnetl.llm.embedders import Embedder

if TYPE_CHECKING:  # import numpy, which a run without new turns does without
    from turnetl.ingestion.run_ahead import RunAhead
    from turnetl.ingestion.turn_summaries import SummaryRules, TurnSummaries
    from turnetl.llm.ahead import AheadModel

log = logging.getLogger(__name__)


@dataclass
class _LeasedGroup:
    """The group of an ingest, under its lease."""

    lease: Lease
    state: MirroredGroup
    turns_left: int
    window: deque[PrefetchedTurn] = field(default_factory=deque)
    """The turns that follow and whose extraction has started."""
    ahead: "RunAhead | None" = None

    def committing(self, turn: PrefetchedTurn) -> AbstractContextManager[None]:
        """Run ahead of a turn while this context commits it, if the run does."""
        return nullcontext() if self.ahead is None else self.ahead.committing(turn, self.window)

    def apply(self, turn: PrefetchedTurn, resolved: ResolvedTurn) -> None:
        self.state.apply(resolved)
        # Last: what runs ahead reads the group and its summaries as this turn left them.
        if self.ahead is not None:
            self.ahead.committed(turn, resolved.for_mirror)


@dataclass(eq=False)
class TurnPipeline:
    """Ingests turns of one group into one graph."""

    store: TurnStore
    extractor: Extractor[Any]
    embedder: Embedder
    quarantine: Quarantine
    run: IngestRun
    _: KW_ONLY
    admission: TurnAdmission = field(default_factory=TurnAdmission)
    """Shared by all groups of the run."""
    summaries: "SummaryRules | None" = None
    ahead: "AheadModel | None" = None
    done: IngestProgress = field(default=IngestProgress(0, 0), init=False)
    """Progress so far, also after `ingest` raised."""
    _recorded_kinds: set[str] = field(default_factory=set, init=False)
    """Of the turns whose recipe is recorded."""

    async def ingest(
        self,
        group_id: GroupId,
        episodes: Iterable[Episode],
        context: Mapping[TurnId, Sequence[TurnId]],
        progress: Callable[[IngestProgress], None],
        *,
        lease: Lease | None = None,
    ) -> IngestProgress:
        """Commit the turns of `with_context` in their order, under the lease of the group.

        Turns that the graph holds already are skipped: another run may have committed them.

        Raises:
            GraphBusy: another run holds the group, or the graph stopped responding; committed turns
                stay.
            RunStopped: several turns in a row failed, or the budget is used up.
        """
        failures = 0
        async with self._opened(group_id, episodes, context, progress, lease) as (group, turns):
            async for turn in turns:
                with turn.admitted, charged_to(turn.admitted.account):
                    try:
                        with group.committing(turn):
                            await self._ingest_turn(group, turn)
                        failures = 0
                    except BadTurn as error:
                        self._quarantine_turn(turn.episode, error)
                        failures += 1
                group.turns_left -= 1
                self.admission.costs.finish(len(turn.episode.text))
                if failures >= MAX_CONSECUTIVE_FAILURES:
                    raise too_many_failures(group_id, failures)
                progress(self.done)
        return self.done

    @asynccontextmanager
    async def _opened(
        self,
        group_id: GroupId,
        episodes: Iterable[Episode],
        context: Mapping[TurnId, Sequence[TurnId]],
        progress: Callable[[IngestProgress], None],
        given: Lease | None,
    ) -> AsyncIterator[tuple[_LeasedGroup, AsyncIterator[PrefetchedTurn]]]:
        """Open the group under its lease, with its turns; write deferred summaries at the end."""
        async with nullcontext(given) if given else await self._lease(group_id) as lease:
            await self.run.on_lease()
            contents = await self.store.load(group_id)
            if not self.run.extractor_named:
                # The plan is older than the lease: another run may have filled the group since.
                check_extractor(group_id, contents.receipts, self.extractor.name)
            context = self._skip_committed(contents.receipts, context)
            if self.done.already_committed:
                progress(self.done)
            recipe = recipe_digest(self.extractor.recipe_parts(group_id))
            earlier = (one.usage for one in contents.receipts if one.recipe == recipe)
            self.admission.costs.learn_earlier(earlier)
            state = MirroredGroup.of(contents, self.summaries)
            group = _LeasedGroup(lease, state, len(context))
            turns = prefetch_turns(
                with_context(episodes, context),
                partial(extract_turn, self.extractor),
                limit=self.run.prefetch,
                admission=self.admission,
                window=group.window,
            )
            async with aclosing(turns) as prefetched, self._running_ahead(group):
                yield group, prefetched
            if state.summaries is not None:
                await self._flush(state.summaries, lease)

    async def _lease(self, group: GroupId) -> AbstractAsyncContextManager[Lease]:
        profile = await run_profile(self.extractor, self.embedder, group)
        return held_lease(self.store, group, profile, self.run)

    @asynccontextmanager
    async def _running_ahead(self, group: _LeasedGroup) -> AsyncIterator[None]:
        if self.ahead is None or not self.run.run_ahead:
            yield
            return
        from turnetl.ingestion.run_ahead import RunAhead  # noqa: PLC0415 - imports numpy

        group.ahead = RunAhead(
            self.extractor,
            self.embedder,
            self.ahead,
            group.state,
            depth=self.run.run_ahead,
            clock=self.run.clock,
            may_run=self.admission.has_room_ahead,
        )
        try:
            yield
        finally:
            await group.ahead.close()

    async def _flush(self, summaries: "TurnSummaries", lease: Lease) -> None:
        with self.admission.flushing():
            flush = await summaries.write_deferred(self.store, lease, self.run)
        counts = add_counts(self.done.summaries, flush.reasons)
        self.done = replace(self.done, summaries=counts)
        flush.written.all()

    def _skip_committed(
        self, receipts: Iterable[Receipt], context: Mapping[TurnId, Sequence[TurnId]]
    ) -> Mapping[TurnId, Sequence[TurnId]]:
        """Return the context of the turns that are not in the graph, read under the lease.

        The plan is older than the lease, so another run may have committed some of its turns. They
        must not be extracted, and paid for, a second time.
        """
        committed = {receipt.turn_id for receipt in receipts}
        skipped = [turn for turn in context if turn in committed]
        for turn in skipped:
            self.quarantine.release(turn)
        self.done = replace(self.done, already_committed=self.done.already_committed + len(skipped))
        return {turn: earlier for turn, earlier in context.items() if turn not in committed}

    async def _ingest_turn(self, group: _LeasedGroup, turn: PrefetchedTurn) -> None:
        """Resolve, embed and commit one turn, then apply it to the group in memory."""
        episode, extracted, run = turn.episode, await turn.extraction, self.run
        resolved = await resolve_turn(
            self.extractor,
            self.embedder,
            episode,
            extracted,
            group.state,
            run_id=run.run_id,
            now=run.clock(),
            ends_run=group.turns_left == 1,
        )
        change, receipt = resolved.change, resolved.receipt
        await self._record_recipe(episode)
        busy: list[Exception] = []
        written = await run.repeat(
            lambda: self.store.commit(
                group.lease, change, receipt, now=run.clock(), ttl=run.lease_ttl
            ),
            on_busy=busy.append,
        )
        turn.admitted.commit(change.usage)
        group.apply(turn, resolved)
        self.quarantine.release(episode.turn_id)
        # If a retry finds the turn committed, an earlier attempt without a response did it.
        self._count(resolved, is_written=written or bool(busy))

    async def _record_recipe(self, episode: Episode) -> None:
        if episode.kind not in self._recorded_kinds:
            parts = self.extractor.recipe_parts(episode.turn.group_id, episode.kind)
            await self.run.repeat(lambda: self.store.record_recipe(parts))
            self._recorded_kinds.add(episode.kind)

    def _count(self, resolved: ResolvedTurn, *, is_written: bool) -> None:
        """Add a commit to the progress; a turn that invalidates many facts is logged."""
        done, change = self.done, resolved.change
        if not is_written:
            self.done = replace(done, already_committed=done.already_committed + 1)
            return
        turn, facts, held = change.episode.turn, len(invalidated_facts(change)), len(change.held)
        invalidations = done.invalidations
        if facts > self.run.invalidation_alert:
            log.warning(
                "a turn invalidated many facts", extra={"turn_id": turn.turn_id, "facts": facts}
            )
        if facts > self.run.invalidation_alert or held:
            invalidation = Invalidation(turn.turn_id, turn.archive, turn.first_line, facts, held)
            invalidations = (*invalidations, invalidation)
        self.done = replace(
            done,
            committed=done.committed + 1,
            discarded=add_counts(done.discarded, resolved.resolved.discarded),
            invalidations=invalidations,
            summaries=add_counts(done.summaries, resolved.summary_reasons),
        )

    def _quarantine_turn(self, episode: Episode, error: BadTurn) -> None:
        run = self.run
        log.info("turn quarantined", extra={"turn_id": episode.turn_id, "error": str(error)})
        self.quarantine.add(entry_of(episode, error, run_id=run.run_id, now=run.clock()))
        self.done = replace(self.done, quarantined=self.done.quarantined + 1)


async def run_profile(
    extractor: Extractor[Any], embedder: Embedder, group: GroupId
) -> GroupProfile:
    """Return the embedder and the recipe with which a run takes the lease of a group."""
    recipe = recipe_digest(extractor.recipe_parts(group))
    # In a thread: an embedder behind HTTP may have to ask its server.
    dimensions = await asyncio.to_thread(lambda: embedder.dimensions)
    return GroupProfile(embedder.name, dimensions, recipe)
