"""Ingest the turns of a lake and redo some of them, as runs do."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from tests import frames
from tests.builders import GROUP, START
from tests.graph.graph_dump import dump_graph
from tests.graph.statements import DELETE_ALL, run_statement
from tests.ingestion import runs
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.model import Turn
from turnetl.extraction.port import Extractor
from turnetl.graph.open import open_graph
from turnetl.ingestion.admission import TurnAdmission
from turnetl.ingestion.group import IngestResources
from turnetl.ingestion.ingest_report import GroupReport
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.plan import Scope
from turnetl.ingestion.redo import GroupRedoPlan, RedoneGroup, plan_group_redo, redo_group
from turnetl.ingestion.redo_report import RedoSelection
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.lake import Lake

NOW = START + timedelta(days=1)
SCOPE = Scope(now=NOW)
STALE = RedoSelection(stale=True)


def write_lake(folder: Path, turns: Sequence[Turn]) -> Lake:
    """Write the turns, which are in the order of time, as the episodes of a lake."""
    lake = Lake(folder)
    lake.write_episodes(GROUP, [frames.episode_table(frames.turns(*turns))], dict)
    return lake


@asynccontextmanager
async def opened(
    url: str, lake: Lake, extractor: Extractor[Any], summaries: SummaryRules | None = None
) -> AsyncIterator[IngestResources]:
    """Open a graph for a run."""
    store = await open_graph(url, user="", password="", write=True)
    await store.prepare()
    try:
        yield IngestResources(lake, store, extractor, ToyEmbedder(), summaries=summaries)
    finally:
        await store.close()


def new_run(run_id: str, run_ahead: int = 0) -> IngestRun:
    return IngestRun(
        run_id,
        f"here:1:{run_id}",
        lambda: NOW,
        timedelta(seconds=60),
        prefetch=max(2, 2 * run_ahead),
        retry_delay=0.01,
        extractor_named=True,
        run_ahead=run_ahead,
    )


async def ingest(
    resources: IngestResources, run_id: str = "ingest", scope: Scope = SCOPE
) -> GroupReport:
    return await runs.ingest(GROUP, resources, scope, new_run(run_id))


async def plan_redo_of(
    resources: IngestResources, selection: RedoSelection = STALE, *, exact: bool = False
) -> GroupRedoPlan | None:
    return await plan_group_redo(
        await runs.plan(GROUP, resources, SCOPE),
        resources.lake,
        resources.store,
        SCOPE,
        selection,
        recipe=resources.extractor.recipe_parts,
        context_turns=runs.CONTEXT_TURNS,
        exact=exact,
    )


async def carry_out(
    resources: IngestResources,
    planned: GroupRedoPlan,
    *,
    run_id: str = "redo",
    progress: Callable[[str, int, int], None] = lambda *_: None,
    run_ahead: int = 0,
) -> RedoneGroup:
    run = new_run(run_id, run_ahead)
    return await redo_group(planned, resources, run, TurnAdmission(), progress)


async def redo(
    resources: IngestResources, selection: RedoSelection = STALE, *, exact: bool = False
) -> RedoneGroup:
    """Redo the selected turns, of which there is at least one."""
    planned = await plan_redo_of(resources, selection, exact=exact)
    assert planned is not None
    return await carry_out(resources, planned)


async def empty(url: str) -> None:
    await run_statement(url, DELETE_ALL)


async def dump_in_order(url: str) -> list[str]:
    """Return the lines of `dump_graph`, with commits numbered from 1 in their order."""
    lines = [msgspec.json.decode(line) for line in await dump_graph(url)]
    numbers = sorted(line[-1]["sequence"] for line in lines if "sequence" in line[-1])
    for line in lines:
        if "sequence" in line[-1]:
            line[-1]["sequence"] = numbers.index(line[-1]["sequence"]) + 1
    return sorted(msgspec.json.encode(line, order="sorted").decode() for line in lines)
