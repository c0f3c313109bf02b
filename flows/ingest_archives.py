"""Archives to the graph, as all flows that ingest do it: with progress, events and a report."""

from collections.abc import Sequence
from typing import Any

import msgspec
from prefect import State, get_run_logger
from prefect.states import Completed

from flows.artifacts import publish_report, publish_summaries
from flows.events import emit_ingested
from flows.executor import PrefectTasks
from flows.progress import ProgressArtifacts
from flows.run_settings import absolute_paths
from flows.states import budget_stopped, failed
from turnetl import pipeline
from turnetl.backfill_report import BackfillReport
from turnetl.clock import now
from turnetl.control_characters import displayed_message
from turnetl.json_output.backfill import backfill_output
from turnetl.parsing import ParseReport
from turnetl.report import backfill as view
from turnetl.report.ingest import is_failure
from turnetl.settings import Settings


async def ingest_archives(
    archives: Sequence[str],
    settings: Settings,
    options: pipeline.RunOptions,
    *,
    format_name: str | None = None,
    executor: PrefectTasks,
) -> BackfillReport:
    """Run a backfill, show its progress, and publish its report and events.

    Raises:
        TurnetlError: as `pipeline.backfill`.
    """
    progress = ProgressArtifacts()
    async with progress.publishing():
        report = await pipeline.backfill(
            absolute_paths(archives),
            settings,
            options,
            now,
            format_name=format_name,
            executor=executor,
            progress=progress,
            on_parsed=log_problems,
        )
    emit_ingested(report.ingested)
    await publish(report)
    return report


async def publish(report: BackfillReport) -> None:
    """Publish the report of a backfill."""
    await publish_report(view.markdown(report))
    await publish_summaries(report)


def log_problems(parsed: ParseReport) -> None:
    """Log the warnings about archives and joined groups, also if the run fails later."""
    for problem in parsed.problems:
        get_run_logger().warning(displayed_message(problem.message))
    for collision in parsed.name_collisions:
        get_run_logger().warning(displayed_message(collision.message))


def backfill_state(report: BackfillReport) -> State[dict[str, Any]]:
    """Return Completed or BudgetStopped with the report, or Failed with the first error."""
    data = msgspec.to_builtins(backfill_output(report))
    if view.is_budget_stop(report):
        return budget_stopped(view.errors(report)[0], data)
    if is_failure(view.exit_code(report)):
        return failed(view.errors(report))
    ingested = report.ingested
    message = f"{ingested.committed} turns committed, {ingested.already_committed} before"
    return Completed(message=message, data=data)
