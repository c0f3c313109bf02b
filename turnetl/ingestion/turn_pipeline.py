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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from turnetl.base.errors import BadTurn, GraphBusy
from turnetl.base.graph_model import GroupProfile, Lease, Receipt
from turnetl.base.ids import recipe_digest
from turnetl.base.model import Episode, GroupId, TurnId
from turnetl.base.reason import add_counts
from turnetl.base.repeat import repeat_until
from turnetl.extraction.port import Extractor
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.port import GraphStore
from turnetl.ingestion.admission import TurnAdmission
from turnetl.ingestion.commit import RecipeRecorder, invalidated_facts
from turnetl.ingestion.held_lease import held_lease
from turnetl.ingestion.ingest_report import Invalidation, check_extractor
from turnetl.ingestion.ingest_run import IngestProgress, IngestRun
from turnetl.ingestion.prefetch import PrefetchedTurn, prefetch_extractions
from turnetl.ingestion.quarantine import Quarantine, entry_of
from turnetl.ingestion.resolved_turn import (
    MAX_CONSECUTIVE_FAILURES,
    ResolvedTurn,
    as_bad_turn,
    resolve_turn,
    too_many_failures,
)
from turnetl.llm.accounts import charged_to
from turnetl.llm.embedders.port import Embedder

if TYPE_CHECKING:  # import numpy, which a run without new turns does without
    from turnetl.ingestion.run_ahead import RunAhead
    from turnetl.ingestion.turn_summaries import SummaryRules, TurnSummaries
    from turnetl.llm.ahead import AheadModel

log = logging.getLogger(__name__)


@dataclass
class _LeasedGroup:
    """The group of an ingest, under its lease."""

    lease: Lease
    mirror: MirrorGroup
    summaries: "TurnSummaries | None"
    turns_left: int
    window: deque[PrefetchedTurn]
    """The turns that follow and whose extraction has started."""
    ahead: "RunAhead | None" = None

    def committing(self, turn: PrefetchedTurn) -> AbstractContextManager[None]:
        """Run ahead of a turn while this context commits it, if the run does."""
        return nullcontext() if self.ahead is None else self.ahead.committing(turn, self.window)

    def apply(self, turn: PrefetchedTurn, resolved: ResolvedTurn) -> None:
        self.mirror.apply(resolved.for_mirror, resolved.receipt)
        if self.ahead is not None:
            self.ahead.committed(turn, resolved.for_mirror)
        if self.summaries is not None:
            self.summaries.apply(resolved.change)


class TurnPipeline:
    """Ingests turns of one group into one graph."""

    def __init__(
        self,
        store: GraphStore,
        extractor: Extractor[Any],
        embedder: Embedder,
        quarantine: Quarantine,
        run: IngestRun,
        *,
        admission: TurnAdmission | None = None,
        summaries: "SummaryRules | None" = None,
        ahead: "AheadModel | None" = None,
    ) -> None:
        """Make a pipeline for one group.

        Args:
            admission: shared by all groups of the run; None: without a budget.
            ahead: receives the requests of the extractor, also of turns that run ahead; None: no
                turn runs ahead.
        """
        self._store = store
        self._extractor = extractor
        self._embedder = embedder
        self._quarantine = quarantine
        self._run = run
        self._admission = admission or TurnAdmission()
        self._summary_rules = summaries
        self._ahead = ahead
        self._recipes = RecipeRecorder(store, extractor, run)
        self.done = IngestProgress(0, 0)
        """Progress so far, also after `ingest` raised."""

    async def ingest(
        self,
        group_id: GroupId,
        episodes: Iterable[Episode],
        context: Mapping[TurnId, Sequence[TurnId]],
        progress: Callable[[IngestProgress], None],
        *,
        lease: Lease | None = None,
    ) -> IngestProgress:
        """Commit the turns that `context` has as keys, in the order of `episodes`.

        Turns that the graph holds already are skipped: another run may have committed them.

        Args:
            group_id: the group; this run holds its lease meanwhile.
            episodes: the turns to commit and the turns of their context, in table order.
            context: for each turn to commit, the earlier turns to show the model.

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
                self._admission.costs.finish(len(turn.episode.text))
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
            await self._run.on_lease()
            contents = await self._store.load(group_id)
            if not self._run.extractor_named:
                # The plan is older than the lease: another run may have filled the group since.
                check_extractor(group_id, contents.receipts, self._extractor.name)
            context = self._skip_committed(contents.receipts, context)
            if self.done.already_committed:
                progress(self.done)
            recipe = recipe_digest(self._extractor.recipe_parts(group_id))
            earlier = (one.usage for one in contents.receipts if one.recipe == recipe)
            self._admission.costs.learn_earlier(earlier)
            rules, window = self._summary_rules, deque[PrefetchedTurn]()
            summaries = None if rules is None else rules.of_group(contents)
            decided = contents if summaries is None else summaries.decided(contents)
            group = _LeasedGroup(lease, MirrorGroup(decided), summaries, len(context), window)
            turns = prefetch_extractions(
                episodes,
                context,
                self._extract,
                limit=self._run.prefetch,
                admission=self._admission,
                window=window,
            )
            async with aclosing(turns) as prefetched, self._running_ahead(group):
                yield group, prefetched
            if summaries is not None:
                await self._flush(summaries, lease)

    async def _lease(self, group: GroupId) -> AbstractAsyncContextManager[Lease]:
        profile = await run_profile(self._extractor, self._embedder, group)
        return held_lease(self._store, group, profile, self._run)

    @asynccontextmanager
    async def _running_ahead(self, group: _LeasedGroup) -> AsyncIterator[None]:
        """Resolve the next turns of the group ahead, if the run does."""
        if self._ahead is None or not self._run.run_ahead:
            yield
            return
        from turnetl.ingestion.run_ahead import RunAhead  # noqa: PLC0415 - imports numpy

        group.ahead = RunAhead(
            self._extractor,
            self._embedder,
            self._ahead,
            group.mirror,
            group.summaries,
            depth=self._run.run_ahead,
            clock=self._run.clock,
            may_run=self._admission.has_room_ahead,
        )
        try:
            yield
        finally:
            await group.ahead.close()

    async def _flush(self, summaries: "TurnSummaries", lease: Lease) -> None:
        with self._admission.flushing():
            flush = await summaries.write_deferred(self._store, lease, self._run)
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
            self._quarantine.release(turn)
        self.done = replace(self.done, already_committed=self.done.already_committed + len(skipped))
        return {turn: earlier for turn, earlier in context.items() if turn not in committed}

    async def _extract(self, episode: Episode, context: Sequence[Episode]) -> Any:
        with as_bad_turn(episode):
            return await self._extractor.extract(episode, context)

    async def _ingest_turn(self, group: _LeasedGroup, turn: PrefetchedTurn) -> None:
        """Resolve, embed and commit one turn, then apply it to the group in memory."""
        episode, extracted = turn.episode, await turn.extraction
        now, run = self._run.clock(), self._run
        resolved = await resolve_turn(
            self._extractor,
            self._embedder,
            episode,
            extracted,
            group.mirror,
            run_id=run.run_id,
            now=now,
            summaries=group.summaries,
            ends_run=group.turns_left == 1,
        )
        change, receipt = resolved.change, resolved.receipt
        await self._recipes.record(episode)
        busy: list[Exception] = []
        written = await repeat_until(
            lambda: self._store.commit(
                group.lease, change, receipt, now=run.clock(), ttl=run.lease_ttl
            ),
            run.pauses,
            busy=GraphBusy,
            on_busy=busy.append,
        )
        turn.admitted.commit(change.usage)
        group.apply(turn, resolved)
        self._quarantine.release(episode.turn_id)
        self.done = with_turn(
            # If a retry finds the turn committed, an earlier attempt without a response did it.
            self.done,
            resolved,
            written=written or bool(busy),
            invalidation_alert=run.invalidation_alert,
        )

    def _quarantine_turn(self, episode: Episode, error: BadTurn) -> None:
        run = self._run
        log.info("turn quarantined", extra={"turn_id": episode.turn_id, "error": str(error)})
        self._quarantine.add(entry_of(episode, error, run_id=run.run_id, now=run.clock()))
        self.done = replace(self.done, quarantined=self.done.quarantined + 1)


async def run_profile(
    extractor: Extractor[Any], embedder: Embedder, group: GroupId
) -> GroupProfile:
    """Return the embedder and the recipe with which a run takes the lease of a group."""
    recipe = recipe_digest(extractor.recipe_parts(group))
    # In a thread: an embedder behind HTTP may have to ask its server.
    dimensions = await asyncio.to_thread(lambda: embedder.dimensions)
    return GroupProfile(embedder.name, dimensions, recipe)


def with_turn(
    done: IngestProgress, resolved: ResolvedTurn, *, written: bool, invalidation_alert: int
) -> IngestProgress:
    """Return the progress after a commit; a turn that invalidates many facts is logged."""
    if not written:
        return replace(done, already_committed=done.already_committed + 1)
    turn, facts = resolved.change.episode.turn, len(invalidated_facts(resolved.change))
    invalidations = done.invalidations
    if facts > invalidation_alert:
        log.warning(
            "a turn invalidated many facts", extra={"turn_id": turn.turn_id, "facts": facts}
        )
        invalidation = Invalidation(turn.turn_id, turn.archive, turn.first_line, facts)
        invalidations = (*invalidations, invalidation)
    return replace(
        done,
        committed=done.committed + 1,
        discarded=add_counts(done.discarded, resolved.resolved.discarded),
        invalidations=invalidations,
        summaries=add_counts(done.summaries, resolved.summary_reasons),
    )
