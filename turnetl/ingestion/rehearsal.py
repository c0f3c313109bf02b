"""The turns of a redo extracted and resolved in memory, before anything is undone.

All requests are sent then, and the journal has the responses: what follows sends none, so that
neither a model that fails nor a budget that is used up leaves a group half repeated.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from turnetl.base.errors import BadTurn
from turnetl.base.graph_model import GroupContents
from turnetl.base.ids import recipe_digest
from turnetl.base.model import Episode, TurnId
from turnetl.extraction.port import Extractor
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.port import GraphStore
from turnetl.ingestion.admission import TurnAdmission
from turnetl.ingestion.commit import with_embeddings
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.plan import TurnPlan
from turnetl.ingestion.prefetch import PrefetchedTurn, prefetch_extractions
from turnetl.ingestion.resolved_turn import MAX_CONSECUTIVE_FAILURES, as_bad_turn, resolve_turn
from turnetl.ingestion.undo_plan import UndoPlan
from turnetl.ingestion.undo_report import UndoState
from turnetl.llm.accounts import charged_to
from turnetl.llm.embedders.port import Embedder
from turnetl.summaries.records import RecordedSummaries

if TYPE_CHECKING:  # imports numpy, which a run without new turns does without
    from turnetl.ingestion.turn_summaries import SummaryRules, TurnSummaries


@dataclass
class _RehearsedGroup:
    mirror: MirrorGroup
    summaries: "TurnSummaries | None"
    turns_left: int


class Rehearsal:
    """Extracts and resolves turns as the ingest after an undo will. Writes nothing to the graph."""

    def __init__(
        self,
        store: GraphStore,
        extractor: Extractor[Any],
        embedder: Embedder,
        run: IngestRun,
        admission: TurnAdmission,
        *,
        summaries: "SummaryRules | None" = None,
    ) -> None:
        """Rehearse nothing yet.

        Args:
            extractor: with a model whose responses the journal keeps.
            admission: with the budget of the run, and used for rehearsals only.
        """
        self._store = store
        self._extractor = extractor
        self._embedder = embedder
        self._run = run
        self._admission = admission
        self._summary_rules = summaries
        self.failed: dict[TurnId, BadTurn] = {}
        """Turns that cannot be ingested, which a fresh ingest would quarantine. After several in a
        row the rest is not tried: their cause is not the content of a turn."""

    async def run(
        self,
        undo: UndoPlan,
        plan: TurnPlan,
        episodes: Iterable[Episode],
        progress: Callable[[int], None],
    ) -> None:
        """Extract and resolve the turns of a plan, in order, as they will be after the undo."""
        contents = await self._store.load(plan.group)
        recipe = recipe_digest(self._extractor.recipe_parts(plan.group))
        self._admission.costs.learn_earlier(
            receipt.usage for receipt in contents.receipts if receipt.recipe == recipe
        )
        rules, undone = self._summary_rules, await undone_contents(contents, undo, self._embedder)
        summaries = None if rules is None else rules.of_group(undone)
        group = _RehearsedGroup(
            MirrorGroup(undone if summaries is None else summaries.decided(undone)),
            summaries,
            turns_left=len(plan.context),
        )
        turns = prefetch_extractions(
            episodes,
            plan.context,
            self._extract,
            limit=self._run.prefetch,
            admission=self._admission,
        )
        done = failures = 0
        async with aclosing(turns) as prefetched:
            async for turn in prefetched:
                failures = 0 if await self._rehearse(turn, group) else failures + 1
                group.turns_left -= 1
                if failures == MAX_CONSECUTIVE_FAILURES:
                    return
                done += 1
                progress(done)
        if summaries is not None:
            await summaries.rehearse_deferred()

    async def _rehearse(self, turn: PrefetchedTurn, group: _RehearsedGroup) -> bool:
        """Resolve the turn and apply it to the group; return whether it can be ingested."""
        with turn.admitted, charged_to(turn.admitted.account):
            try:
                resolved = await resolve_turn(
                    self._extractor,
                    self._embedder,
                    turn.episode,
                    await turn.extraction,
                    group.mirror,
                    run_id=self._run.run_id,
                    now=self._run.clock(),
                    summaries=group.summaries,
                    ends_run=group.turns_left == 1,
                )
            except BadTurn as error:
                self.failed[turn.episode.turn_id] = error
            else:
                turn.admitted.commit(resolved.change.usage)
                group.mirror.apply(resolved.for_mirror, resolved.receipt)
                if group.summaries is not None:
                    group.summaries.apply(resolved.change)
        self._admission.costs.finish(len(turn.episode.text))
        return turn.episode.turn_id not in self.failed

    async def _extract(self, episode: Episode, context: Sequence[Episode]) -> Any:
        with as_bad_turn(episode):
            return await self._extractor.extract(episode, context)


async def undone_contents(
    contents: GroupContents, undo: UndoPlan, embedder: Embedder
) -> GroupContents:
    """Return a group as an undo would leave it, with all embeddings. Writes nothing."""
    summaries = RecordedSummaries(contents.summaries)
    state = UndoState(contents.entities, contents.facts, summaries)
    for turn in undo.turns:
        state.undo(turn)
    entities, facts = await with_embeddings(
        tuple(state.entities.values()), tuple(state.facts.values()), embedder.embed
    )
    undone = {turn.record.receipt.turn_id for turn in undo.turns}
    receipts = (one for one in contents.receipts if one.turn_id not in undone)
    return replace(
        contents,
        entities=entities,
        facts=facts,
        receipts=tuple(receipts),
        summaries=summaries.records,
    )
