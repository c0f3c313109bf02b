"""The runs that wrote to a graph, and how each one ended."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from turnetl import wiring
from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import RunTotals, TurnRun
from turnetl.ingestion import estimate_record, held_lease
from turnetl.ingestion.ingest_run import with_totals
from turnetl.ingestion.run_report import RecordedRun, RunsReport, RunState
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import check_graph
from turnetl.settings import Settings


async def runs(
    settings: Settings, groups: Sequence[str] = (), *, limit: int | None = None
) -> RunsReport:
    """Return the runs that wrote to the graph, newest first: those with turns for the groups."""
    recorded = await _recorded(settings)
    existing = sorted({group for run in recorded for group in run.run.groups})
    selected = set(select_groups(existing, groups))
    matching = [run for run in recorded if not groups or selected.intersection(run.run.groups)]
    return RunsReport(tuple(matching[:limit]), len(matching))


async def show_run(settings: Settings, run_id: str) -> RecordedRun:
    """Return the run whose id begins with `run_id`; raises `BadUsage` for none or several."""
    matching = [run for run in await _recorded(settings) if run.run.run_id.startswith(run_id)]
    if not run_id or not matching:
        raise BadUsage(f"there is no run `{run_id}`; `turnetl runs` lists the runs")
    if len(matching) > 1:
        several = ", ".join(run.run.run_id for run in matching)
        raise BadUsage(f"`{run_id}` begins several runs: {several}; type more of the id")
    return matching[0]


async def _recorded(settings: Settings) -> list[RecordedRun]:
    check_graph(settings)
    async with wiring.store(settings, write=False) as store:
        totals = await store.run_totals()
        return [_recorded_run(run, totals, settings.lake) for run in await store.runs()]


def _recorded_run(run: TurnRun, totals: Mapping[str, RunTotals], lake: Path) -> RecordedRun:
    """Return the run with its state; if it has no end, with the counts of its receipts."""
    of_run = totals.get(run.run_id)
    counted = run if run.ended_at else with_totals(run, of_run)
    in_graph = of_run.committed if of_run else 0
    estimate = estimate_record.of_run(lake, run.run_id)
    return RecordedRun(counted, _state(run), in_graph, estimate)


def _state(run: TurnRun) -> RunState:
    if run.undone_at:
        return RunState.UNDONE
    if run.outcome:
        return RunState(run.outcome.value)
    return RunState.INTERRUPTED if held_lease.is_dead(run.owner) else RunState.RUNNING
