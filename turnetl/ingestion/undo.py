"""Undo the turns of a plan, newest first, one transaction per turn.

A turn is either undone completely or not at all, so an undo may be killed at any point and
repeated.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from turnetl.base.batched import batched
from turnetl.base.errors import GraphUnusable
from turnetl.base.graph_model import GroupProfile, Lease, Receipt, Reversal
from turnetl.base.model import GroupId, TurnId, Vector
from turnetl.graph.port import GraphStore
from turnetl.ingestion.commit import with_embeddings
from turnetl.ingestion.held_lease import held_lease
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.undo_plan import UndoPlan, plan_undo
from turnetl.ingestion.undo_report import UndoDiff, UndoState, touched_by_undo, undo_diff
from turnetl.summaries.group_sagas import sagas_of
from turnetl.summaries.records import RecordedSummaries

Embed = Callable[[GroupProfile, Sequence[str]], Awaitable[Sequence[Vector]]]
"""Embeds texts with the embedder of a group."""
EmbedTexts = Callable[[Sequence[str]], Awaitable[Sequence[Vector]]]

_BATCH = 200
"""Turns whose entities and facts are in memory together."""


@dataclass(frozen=True, slots=True)
class UndoProgress:
    """What an undo did of a group."""

    undone: int = 0
    already_undone: int = 0
    """Another undo had done them meanwhile."""
    entities_kept: tuple[str, ...] = ()
    """Uuids of entities that another program uses, which therefore stay."""

    @property
    def turns(self) -> int:
        return self.undone + self.already_undone


async def diff_undo(store: GraphStore, plan: UndoPlan) -> UndoDiff:
    summaries = RecordedSummaries(plan.summaries)
    entity_uuids, fact_uuids = touched_by_undo(plan.turns, summaries)
    # Without embeddings, which a diff does not show.
    entities = {
        entity.uuid: replace(entity, embedding=None)
        for entity in await store.entities(plan.group, entity_uuids)
    }
    facts = {
        fact.uuid: replace(fact, embedding=None)
        for fact in await store.facts(plan.group, fact_uuids)
    }
    state = UndoState(entities.values(), facts.values(), summaries)
    for turn in plan.turns:
        state.undo(turn)
    return undo_diff(entities, facts, state)


async def undo_turns(
    store: GraphStore,
    group: GroupId,
    turns: Sequence[TurnId],
    *,
    embed: Embed,
    run: IngestRun,
    progress: Callable[[UndoProgress], None],
) -> UndoProgress:
    """Undo turns of a group, under its lease. Those that are not committed are skipped."""
    profile = await store.profile(group)
    if profile is None:
        return UndoProgress(already_undone=len(turns))
    left = _profile_of_rest(profile, await store.receipts(group), frozenset(turns))
    async with held_lease(store, group, left, run) as held:
        plan = plan_undo(group, await store.commit_records(group), frozenset(turns))
        if plan.is_refused:
            raise GraphUnusable(
                f"group `{group}`: turns that were committed meanwhile build on those to undo; "
                "nothing of it was undone, run the undo again"
            )
        executor = PlannedUndo(store, held, lambda texts: embed(profile, texts), run)
        executor.done = UndoProgress(already_undone=len(set(turns)) - len(plan.turns))
        await executor.undo(plan, progress)
    return executor.done


def _profile_of_rest(
    profile: GroupProfile, receipts: Iterable[Receipt], undone: Collection[TurnId]
) -> GroupProfile:
    """Return the profile with the recipe of the newest turn that stays; as it is if none does."""
    rest = [receipt for receipt in receipts if receipt.turn_id not in undone]
    if not rest:
        return profile
    return replace(profile, recipe=max(rest, key=lambda receipt: receipt.committed_at).recipe)


@dataclass(eq=False)
class PlannedUndo:
    """Carries out a plan under a lease."""

    store: GraphStore
    lease: Lease
    embed: EmbedTexts
    """Called for names and texts that are restored and differ from those of today."""
    run: IngestRun
    done: UndoProgress = field(default_factory=UndoProgress, init=False)
    """Progress so far, also after `undo` raised."""

    async def undo(self, plan: UndoPlan, progress: Callable[[UndoProgress], None]) -> None:
        """Undo the turns of a plan that is not refused and was made under the lease."""
        summaries = RecordedSummaries(plan.summaries)
        # A group whose turns record no summaries has none of its sessions either.
        has_summaries = any(plan.summaries.values())
        sagas = sagas_of(await self.store.load(plan.group)) if has_summaries else None
        last = {turn.record.receipt.run_id: turn for turn in plan.turns}
        for batch in batched(plan.turns, _BATCH):
            entities, facts = touched_by_undo(batch, summaries)
            state = UndoState(
                await self.store.entities(plan.group, entities),
                await self.store.facts(plan.group, facts),
                summaries,
            )
            for turn in batch:
                ends_run = last[turn.record.receipt.run_id] is turn
                reversal = replace(state.undo(turn), ends_run=ends_run)
                if sagas is not None:
                    texts = sagas.remove(
                        turn.record.receipt.turn_id,
                        reversal.facts_removed,
                        reversal.facts_restored,
                    )
                    reversal = replace(reversal, saga_texts=texts)
                await self._revert(await self._embedded(reversal))
                progress(self.done)

    async def _revert(self, reversal: Reversal) -> None:
        run, failures = self.run, list[Exception]()
        reverted = await run.repeat(
            lambda: self.store.revert(self.lease, reversal, now=run.clock(), ttl=run.lease_ttl),
            on_busy=failures.append,
        )
        # If a retry finds the turn undone, an earlier attempt without a response did it.
        if reverted is None and not failures:
            self.done = replace(self.done, already_undone=self.done.already_undone + 1)
            return
        kept = reverted.entities_kept if reverted is not None else ()
        self.done = replace(
            self.done,
            undone=self.done.undone + 1,
            entities_kept=(*self.done.entities_kept, *kept),
        )

    async def _embedded(self, reversal: Reversal) -> Reversal:
        entities, facts = await with_embeddings(
            reversal.entities_restored,
            reversal.facts_restored,
            self.embed,
        )
        return replace(reversal, entities_restored=entities, facts_restored=facts)
