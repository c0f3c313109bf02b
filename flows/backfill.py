"""The backfill as a flow: one task per batch of archives, one for the filter, one per group.

The graph, not Prefect, records what is done. A run may be killed, repeated or started twice: each
turn is committed once.
"""

import os
from datetime import datetime
from typing import Any

import msgspec
from prefect import State, flow, get_run_logger
from prefect.states import Completed, Failed
from pydantic import PositiveInt

from flows.artifacts import publish_summaries
from flows.executor import PrefectTasks
from flows.parameters import (
    AbsolutePath,
    ArchivePatterns,
    Budget,
    GraphUrl,
    Minutes,
    Passes,
    Turns,
)
from flows.run_settings import UMASK, absolute_paths, load_run_settings
from flows.stages import DAY
from flows.warnings import each_once
from turnetl import pipeline
from turnetl.backfill_report import BackfillReport
from turnetl.clock import now
from turnetl.control_characters import displayed_message
from turnetl.errors import TurnetlError
from turnetl.ingestion import assumed_time as assumed
from turnetl.json_output.backfill import backfill_output
from turnetl.parsing import ParseReport
from turnetl.report import backfill as view
from turnetl.report.ingest import is_failure
from turnetl.settings import ExtractorName


@flow(name="backfill", timeout_seconds=DAY, persist_result=False)
async def backfill(
    archives: ArchivePatterns,
    *,
    lake: AbsolutePath | None = None,
    graph: GraphUrl | None = None,
    group: str | None = None,
    group_map: AbsolutePath | None = None,
    format: str | None = None,  # noqa: A002 - named as the option of the command
    extractor: ExtractorName | None = None,
    config: AbsolutePath | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: Turns | None = None,
    close_after: Minutes | None = None,
    assume_time: str | None = None,
    preprocessing: str | None = None,
    reflexion: Passes | None = None,
    budget: Budget | None = None,
    batch_size: PositiveInt = 200,
    jobs: PositiveInt | None = None,
    group_concurrency: PositiveInt | None = None,
    model_slots: str | None = None,
) -> State[dict[str, Any]]:
    """Parse, filter and ingest archives. What an earlier run did is not repeated.

    Args:
        archives: files, folders or globs; absolute paths, or paths that start with `~`.
        lake: folder of the tables.
        graph: URL of the graph, without a password.
        group: the group of all turns, instead of one group per project: a name, or a template of
            {project}, {format}, {user} and {host}.
        group_map: path of a TOML file with exceptions from that.
        format: the format of all archives, instead of detection by content.
        extractor: the extractor of entities and facts.
        config: path of a JSON config.
        since: only turns that started then or later; UTC without a time zone.
        until: only turns that started before.
        limit: at most this number of turns of each group.
        close_after: minutes without a new row after which the last turn of a session is closed.
        assume_time: the time of turns without one: an ISO time, UTC without a time zone, or `mtime`
            for the modification time of the archive.
        preprocessing: instructions for the model in this run: the name of a template, the text
            itself, or `none`. Templates are resolved in the worker's home and working directory.
        reflexion: reflexion passes of this run.
        budget: the budget of this run: `5usd`, `200k tokens`, or a list of one of each.
        batch_size: archives per task.
        jobs: archives of a task that are parsed in parallel; by default one per core.
        group_concurrency: groups ingested in parallel; turns of one group never are.
        model_slots: a global concurrency limit, shared by all flows that use the same model; an
            ingest occupies as many of its slots as the setting `llm.concurrency`.

    Returns:
        The report that `turnetl backfill --json` prints. The run is Failed, with the reason in one
        sentence, if anything was rejected; everything else is done nevertheless.
    """
    # The process of a flow run is its own.
    os.umask(UMASK)
    try:
        settings = load_run_settings(
            config,
            lake,
            graph,
            budget=budget,
            group=group,
            group_map=group_map,
            jobs=jobs,
            extractor=extractor,
            group_concurrency=group_concurrency,
            close_after_minutes=close_after,
        )
        options = pipeline.RunOptions(
            since=since,
            until=until,
            limit=limit,
            assumed_time=assumed.read(assume_time, now()) if assume_time else None,
            preprocessing=preprocessing,
            reflexion=reflexion,
            command=("flow", "backfill"),
        )
        with each_once():
            report = await pipeline.backfill(
                absolute_paths(archives),
                settings,
                options,
                now,
                format_name=format or None,
                executor=PrefectTasks(batch_size, model_slots, settings.llm.concurrency),
                on_parsed=_log_warnings,
            )
        await publish_summaries(report)
    except TurnetlError as error:
        return Failed(message=displayed_message(str(error)))
    return _final_state(report)


def _log_warnings(parsed: ParseReport) -> None:
    """Log the warnings about archives and joined groups, also if the run fails later."""
    for problem in parsed.problems:
        get_run_logger().warning(displayed_message(problem.message))
    for collision in parsed.name_collisions:
        get_run_logger().warning(displayed_message(collision.message))


def _final_state(report: BackfillReport) -> State[dict[str, Any]]:
    """Return Completed with the report, or Failed with the first error."""
    if is_failure(view.exit_code(report)):
        first, *more = map(displayed_message, view.errors(report))
        return Failed(message=f"{first} (and {len(more)} more)" if more else first)
    ingested = report.ingested
    message = f"{ingested.committed} turns committed, {ingested.already_committed} before"
    return Completed(message=message, data=msgspec.to_builtins(backfill_output(report)))
