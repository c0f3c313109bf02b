"""One group's turns into the graph, oldest first: extract ahead, resolve, embed, commit, apply.

A turn is in the graph whole or not at all, so that this may be killed at any line and run again.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from turnetl.errors import BadTurn, Exhausted, GraphBusy, TurnetlError
from turnetl.extraction.port import Extractor, Resolved
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.port import GraphStore
from turnetl.ingest import owner
from turnetl.ingest.change import change_of, invalidated, summed
from turnetl.ingest.prefetch import extracted
from turnetl.ingest.quarantine import Quarantine, QuarantineEntry
from turnetl.llm.port import Embedder
from turnetl.model import Change, Episode, GroupId, Lease, Profile, Receipt, TurnId

log = logging.getLogger(__name__)

_FAILURES_IN_A_ROW = 5
"""So many turns failing one after the other are no accident of their content."""
_COMMIT_ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class IngestRun:
    """Who writes, and by which clock."""

    run_id: str
    owner: str
    clock: Callable[[], datetime]
    lease: timedelta
    prefetch: int
    """Turns whose extraction may run ahead of the commit."""
    pause: float = 0.5
    """Seconds until a commit that got no answer is tried again; doubled each time."""
    invalidation_alert: int = 10
    """Facts that a turn may retire; of one that retires more, a person shall know."""


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """What came of a group's turns in this run."""

    committed: int
    quarantined: int
    discarded: Mapping[str, int] = field(default_factory=dict)
    """Things that were named and left out, by reason."""
    invalidating: Mapping[TurnId, int] = field(default_factory=dict)
    """How many facts each turn retired that retired many."""


class Pipeline:
    """Carries turns of one group into one graph."""

    def __init__(
        self,
        store: GraphStore,
        extractor: Extractor[Any],
        embedder: Embedder,
        quarantine: Quarantine,
        run: IngestRun,
    ) -> None:
        self._store = store
        self._extractor = extractor
        self._embedder = embedder
        self._quarantine = quarantine
        self._run = run
        self.done = IngestProgress(0, 0)
        """What came of the turns so far, also when `ingest` raised."""

    async def ingest(
        self,
        group_id: GroupId,
        episodes: Iterable[Episode],
        context: Mapping[TurnId, Sequence[TurnId]],
        progress: Callable[[IngestProgress], None],
    ) -> IngestProgress:
        """Commit the turns named in `context`, in the order of `episodes`.

        Args:
            group_id: the group; it is leased for as long as this takes.
            episodes: the turns to commit and those that stand in their context, in table order.
            context: for each turn to commit, the turns to show the model.
            progress: told after each turn what came of the turns so far.

        Raises:
            GraphBusy: another writer has the group, or the graph is gone; what is committed stays.
            Exhausted: several turns failed one after the other.
        """
        async with self._leased(group_id) as lease:
            group = MirrorGroup(await self._store.load(group_id))
            in_a_row = 0
            turns = extracted(episodes, context, self._extract, most=self._run.prefetch)
            async with aclosing(turns) as ahead:
                async for episode, extraction in ahead:
                    try:
                        await self._turn(lease, group, episode, await extraction)
                        in_a_row = 0
                    except BadTurn as error:
                        self._set_aside(episode, error)
                        in_a_row += 1
                    if in_a_row >= _FAILURES_IN_A_ROW:
                        raise _broken(group_id, in_a_row)
                    progress(self.done)
        return self.done

    @asynccontextmanager
    async def _leased(self, group: GroupId) -> AsyncIterator[Lease]:
        recipe = self._extractor.recipe(group)
        # One behind HTTP may have to ask its server.
        dimensions = await asyncio.to_thread(lambda: self._embedder.dimensions)
        profile = Profile(self._embedder.name, dimensions, recipe)
        lease = await self._store.acquire(
            group,
            profile,
            owner=self._run.owner,
            now=self._run.clock(),
            ttl=self._run.lease,
            is_dead=owner.is_dead,
        )
        beat = asyncio.create_task(self._keep(lease))
        try:
            yield lease
        finally:
            beat.cancel()
            with suppress(asyncio.CancelledError):
                await beat
            # The graph may be the very thing that failed; the lease then runs out by itself.
            with suppress(TurnetlError):
                await self._store.release(lease)

    async def _keep(self, lease: Lease) -> None:
        """Renew the lease while a model thinks; the fence, not this, is what protects the group."""
        while True:
            await asyncio.sleep(self._run.lease.total_seconds() / 3)
            with suppress(TurnetlError):
                await self._store.renew(lease, now=self._run.clock(), ttl=self._run.lease)

    async def _extract(self, episode: Episode, context: Sequence[Episode]) -> Any:
        with _blamed_on(episode):
            return await self._extractor.extract(episode, context)

    async def _turn(
        self, lease: Lease, group: MirrorGroup, episode: Episode, extracted: Any
    ) -> None:
        now = self._run.clock()
        with _blamed_on(episode):
            resolved = await self._extractor.resolve(episode, extracted, group, now=now)
            resolved = await self._embedded(resolved)
            change = change_of(episode, resolved, group)
            receipt = self._receipt(change, now)
        written = await self._commit(lease, change, receipt)
        group.apply(change, receipt)
        self._quarantine.release(episode.turn_id)
        self._count(change, resolved, written=written)

    def _count(self, change: Change, resolved: Resolved, *, written: bool) -> None:
        if not written:
            return
        turn, gone = change.episode.turn, len(invalidated(change))
        retiring = self.done.invalidating
        if gone > self._run.invalidation_alert:
            log.warning("many facts retired", extra={"turn_id": turn.turn_id, "facts": gone})
            retiring = {**retiring, turn.turn_id: gone}
        self.done = replace(
            self.done,
            committed=self.done.committed + 1,
            discarded=summed(self.done.discarded, resolved.discarded),
            invalidating=retiring,
        )

    async def _embedded(self, resolved: Resolved) -> Resolved:
        names = [entity.name for entity in resolved.entities if entity.embedding is None]
        texts = [fact.text for fact in resolved.facts if fact.embedding is None]
        vectors = iter(await self._embedder.embed([*names, *texts]) if names or texts else ())
        return replace(
            resolved,
            entities=tuple(
                entity if entity.embedding is not None else replace(entity, embedding=next(vectors))
                for entity in resolved.entities
            ),
            facts=tuple(
                fact if fact.embedding is not None else replace(fact, embedding=next(vectors))
                for fact in resolved.facts
            ),
        )

    async def _commit(self, lease: Lease, change: Change, receipt: Receipt) -> bool:
        """Commit, again if the graph was busy: a turn that did get through is not written twice.

        Returns:
            False if the turn was in the graph before, of another run.
        """
        for attempt in range(1, _COMMIT_ATTEMPTS + 1):
            try:
                written = await self._store.commit(
                    lease, change, receipt, now=self._run.clock(), ttl=self._run.lease
                )
            except GraphBusy:
                if attempt == _COMMIT_ATTEMPTS:
                    raise
                await asyncio.sleep(self._run.pause * 2 ** (attempt - 1))
            else:
                # Found there after an attempt without an answer: that attempt was the one.
                return written or attempt > 1
        raise AssertionError

    def _receipt(self, change: Change, now: datetime) -> Receipt:
        turn = change.episode.turn
        if turn.started_at is None:
            raise AssertionError(f"turn {turn.turn_id} without a time is never planned")
        return Receipt(
            turn_id=turn.turn_id,
            group_id=turn.group_id,
            session_id=turn.session_id,
            ordinal=turn.ordinal,
            run_id=self._run.run_id,
            content_hash=turn.content_hash,
            text_hash=change.episode.text_hash,
            parts=len(change.episode.parts),
            recipe=self._extractor.recipe(turn.group_id, change.episode.kind),
            committed_at=now,
            started_at=turn.started_at,
            ended_at=turn.ended_at,
            archive=turn.archive,
            first_line=turn.first_line,
            last_line=turn.last_line,
            usage=change.usage,
            nodes_new=len(change.entities) - len(change.entities_before),
            edges_new=len(change.facts) - len(change.facts_before),
            edges_invalidated=len(invalidated(change)),
        )

    def _set_aside(self, episode: Episode, error: BadTurn) -> None:
        turn = episode.turn
        log.info("turn set aside", extra={"turn_id": turn.turn_id, "reason": str(error)})
        self._quarantine.add(
            QuarantineEntry(
                turn_id=turn.turn_id,
                reason=str(error),
                archive=turn.archive,
                first_line=turn.first_line,
                run_id=self._run.run_id,
                failed_at=self._run.clock(),
            )
        )
        self.done = replace(self.done, quarantined=self.done.quarantined + 1)


@contextmanager
def _blamed_on(episode: Episode) -> Iterator[None]:
    """Make of what nobody foresaw a bad turn: one turn's content must not end the run."""
    try:
        yield
    except TurnetlError:
        raise
    except Exception as error:
        turn = episode.turn
        log.info("unforeseen", exc_info=error, extra={"turn_id": turn.turn_id})
        raise BadTurn(f"{type(error).__name__}: {error}") from error


def _broken(group: GroupId, in_a_row: int) -> Exhausted:
    return Exhausted(
        f"group `{group}`: {in_a_row} turns failed one after the other; see `turnetl status` for "
        "their reasons, mend the cause, then `turnetl retry`"
    )
