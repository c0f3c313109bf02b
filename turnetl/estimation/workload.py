"""The turns that a run would ingest, group by group: what an estimate is made of."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import polars as pl

from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Episode, GroupId, TurnId
from turnetl.estimation.sample import PendingTurn
from turnetl.graph.port import GraphStore
from turnetl.ingestion import group
from turnetl.ingestion.group import GroupPlan
from turnetl.ingestion.prefetch import with_context
from turnetl.ingestion.rehearsal import undone_contents
from turnetl.ingestion.undo_plan import UndoPlan
from turnetl.lake import CHUNK_COUNT
from turnetl.llm.embedders.port import Embedder


@dataclass(frozen=True, slots=True)
class Workload:
    """The turns of one group."""

    plan: GroupPlan
    """Its turns to commit are the turns of the estimate."""
    undo: UndoPlan | None = None
    """What a redo undoes before it ingests them; None for an ingest."""
    store: GraphStore | None = None
    """In which the run finds the group, if it is not the graph itself."""

    @property
    def group(self) -> GroupId:
        return self.plan.group

    def pending(self) -> list[PendingTurn]:
        """Return the turns in the order of the run. Reads no text."""
        wanted = pl.col("turn_id").is_in(list(self.plan.turns.to_commit))
        columns = "turn_id", "chars_after", "tokens", CHUNK_COUNT
        rows = self.plan.rows.filter(wanted).select(*columns).collect()
        return [PendingTurn(TurnId(turn), self.group, *sizes) for turn, *sizes in rows.iter_rows()]

    def episodes(self, turns: Collection[TurnId]) -> Iterator[tuple[Episode, list[Episode]]]:
        """Yield these turns, each with its context, in the order of the run.

        Args:
            turns: some of those of the plan.
        """
        planned = self.plan.turns
        context = {turn: planned.context[turn] for turn in planned.to_commit if turn in turns}
        required = {*context, *(earlier for of_turn in context.values() for earlier in of_turn)}
        loaded = group.load_episodes(self.plan.rows, required, batch_rows=self.plan.batch_rows)
        yield from with_context(loaded, context)

    async def contents(self, store: GraphStore, embedder: Embedder) -> GroupContents:
        """Return the group as the run would find it. Writes nothing."""
        contents = await (self.store or store).load(self.group)
        if self.undo is not None:
            contents = await undone_contents(contents, self.undo, embedder)
        return contents
