"""Archives to the graph, as all flows that ingest do it: with progress, events and a report."""

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prefect import State, get_run_logger
from prefect.states import Completed

from flows.artifacts import page_link, publish_report, publish_summaries
from flows.events import emit_ingested
from flows.executor import PrefectTasks
from flows.progress import ProgressArtifacts
from flows.run_flow import budget_stopped, failed
from flows.run_settings import absolute_paths
from turnetl import pipeline
from turnetl.activity_report.report_file import ReportRequest, write_report
from turnetl.backfill_report import BackfillReport
from turnetl.base.clock import now
from turnetl.base.control_characters import displayed_message
from turnetl.base.errors import TurnetlError
from turnetl.base.exit_code import is_failure
from turnetl.base.results import plain
from turnetl.base.text import plural
from turnetl.parsing import ParseReport
from turnetl.report_pages.own_file import check_page
from turnetl.settings import Settings
from turnetl.views import backfill as view
from turnetl.views.markdown import markdown


async def ingest_archives(
    archives: Sequence[str],
    settings: Settings,
    options: pipeline.RunOptions,
    *,
    format_name: str | None = None,
    report_file: str | None = None,
    executor: PrefectTasks,
) -> BackfillReport:
    """Run a backfill, show its progress, and publish its report and events.

    Args:
        report_file: where `turnetl report` is written after the run; None: it is not. `BadUsage` if
            no page can be written there.
    """
    report_page = Path(absolute_paths([report_file])[0]) if report_file else None
    if report_page is not None:
        check_page(report_page)
    async with ProgressArtifacts().publishing() as progress:
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
    link = None if report_page is None else await _write_report(report_page, settings, executor)
    await publish(report, link or "")
    return report


async def publish(report: BackfillReport, link: str = "") -> None:
    """Publish the report of a backfill as Markdown, after a link to the written report."""
    await publish_report(f"{link}{markdown(view.view(report))}")
    await publish_summaries(report)


async def _write_report(path: Path, settings: Settings, executor: PrefectTasks) -> str | None:
    """Write the page of `turnetl report`; return a link to it, or None if it cannot be written."""
    from turnetl.report_pages.activity_page import ActivityPageFile  # noqa: PLC0415 - only with a page

    try:
        written = await executor.run_stage(
            "report",
            lambda: write_report(path, settings, now, ReportRequest(), ActivityPageFile()),
        )
    except TurnetlError as error:
        # The turns are committed: the next run writes it.
        get_run_logger().warning(displayed_message(str(error)))
        return None
    return page_link(written.path, platform.node())


def log_problems(parsed: ParseReport) -> None:
    """Log the warnings about archives and joined groups, also if the run fails later."""
    for problem in parsed.problems:
        get_run_logger().warning(displayed_message(problem.message))
    for collision in parsed.name_collisions:
        get_run_logger().warning(displayed_message(collision.message))


def backfill_state(report: BackfillReport) -> State[dict[str, Any]]:
    """Return Completed or BudgetStopped with the report, or Failed with the first error."""
    data = plain(report)
    if view.is_budget_stop(report):
        return budget_stopped(view.errors(report)[0], data)
    if is_failure(view.exit_code(report)):
        return failed(view.errors(report))
    ingested = report.ingested
    committed = plural(ingested.committed, "turn")
    message = f"{committed} committed, {ingested.already_committed:,} before"
    return Completed(message=message, data=data)
