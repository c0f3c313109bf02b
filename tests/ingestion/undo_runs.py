"""Ingest turns into a group and undo some of them, as runs do."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.builders import START
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.graph_model import GroupProfile
from turnetl.base.model import Episode, GroupId, Vector
from turnetl.extraction.port import Extractor
from turnetl.graph.port import GraphStore
from turnetl.ingestion.ingest_run import IngestProgress, IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.ingestion.undo import Embed, UndoProgress, undo_turns
from turnetl.ingestion.undo_plan import UndoPlan, UndoSelection, plan_undo, select_turns
from turnetl.lake import LocalFiles

NOW = START + timedelta(days=1)
LEASE = timedelta(seconds=60)


async def ingest_run(
    store: GraphStore,
    turns: Sequence[Episode],
    lake: Path,
    extractor: Extractor[Any],
    run_id: str,
    *,
    now: datetime = NOW,
    clock: Callable[[], datetime] | None = None,
    summaries: SummaryRules | None = None,
) -> IngestProgress:
    """Commit the turns, which are of one group, in a run of their own."""
    if not turns:
        return IngestProgress(0, 0)
    group = turns[0].turn.group_id
    run = IngestRun(run_id, f"here:1:{run_id}", clock or (lambda: now), LEASE, prefetch=2)
    quarantine = Quarantine(LocalFiles(lake), group)
    pipeline = TurnPipeline(store, extractor, ToyEmbedder(), quarantine, run, summaries=summaries)
    return await pipeline.ingest(group, turns, {turn.turn_id: () for turn in turns}, lambda _: None)


async def plan(
    store: GraphStore, group: GroupId, selection: UndoSelection, *, cascade: bool = False
) -> UndoPlan:
    records = await store.commit_records(group)
    return plan_undo(group, records, select_turns(records, selection), cascade=cascade)


async def toy_embed(_: GroupProfile, texts: Sequence[str]) -> Sequence[Vector]:
    return await ToyEmbedder().embed(texts)


async def undo(
    store: GraphStore,
    planned: UndoPlan,
    *,
    embed: Embed = toy_embed,
    progress: Callable[[UndoProgress], None] = lambda _: None,
) -> UndoProgress:
    """Carry out a plan."""
    return await undo_turns(
        store,
        planned.group,
        [turn.record.receipt.turn_id for turn in planned.turns],
        embed=embed,
        run=IngestRun("undo", "here:1:undo", lambda: NOW, LEASE, retry_delay=0),
        progress=progress,
    )
