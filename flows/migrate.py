"""The migration of session-level data as a flow: plan, run, compare and, if told, cutover.

The graph, not Prefect, records how far a migration is. A run may be killed or repeated.
"""

import os
from pathlib import Path
from typing import Any

import msgspec
from prefect import State, flow
from prefect.states import Completed, Failed

from flows.artifacts import publish_comparison, publish_migration_plan
from flows.executor import PrefectTasks
from flows.parameters import (
    AbsolutePath,
    ArchivePatterns,
    Budget,
    GraphUrl,
    Minutes,
    Name,
    Names,
    Passes,
    Turns,
)
from flows.run_settings import UMASK, absolute_paths, load_run_settings
from flows.stages import DAY
from flows.warnings import each_once
from turnetl import pipeline
from turnetl.clock import now
from turnetl.control_characters import displayed_message
from turnetl.errors import TurnetlError
from turnetl.ingestion import assumed_time as assumed
from turnetl.json_output.migrate_change import migration_change_output
from turnetl.json_output.migrate_compare import migration_comparison_output
from turnetl.json_output.migrate_plan import migration_plan_output
from turnetl.json_output.migrate_run import migration_run_output
from turnetl.report import migration_change, migration_run
from turnetl.report.ingest import is_failure
from turnetl.settings import ExtractorName


@flow(name="migrate", timeout_seconds=2 * DAY, persist_result=False)
async def migrate(
    archives: ArchivePatterns,
    *,
    groups: Names | None = None,
    plan_file: AbsolutePath | None = None,
    format: Name | None = None,  # noqa: A002 - named as the option of the command
    lake: AbsolutePath | None = None,
    graph: GraphUrl | None = None,
    config: AbsolutePath | None = None,
    extractor: ExtractorName | None = None,
    limit: Turns | None = None,
    close_after: Minutes | None = None,
    assume_time: Name | None = None,
    preprocessing: str | None = None,
    reflexion: Passes | None = None,
    budget: Budget | None = None,
    questions: AbsolutePath | None = None,
    cutover: bool = False,
    accept: bool = False,
) -> State[dict[str, Any]]:
    """Replace the session-level data of a graph by turns, up to the comparison or the cutover.

    Args:
        archives: files, folders or globs; absolute paths, or paths that start with `~`.
        groups: group ids; by default all groups that hold session-level data.
        plan_file: a file of `turnetl migrate plan --write` in which a person settled ambiguous
            episodes.
        format: the format of all archives, instead of detection by content.
        lake: folder of the tables.
        graph: URL of the graph, without a password.
        config: path of a JSON config.
        extractor: the extractor of entities and facts.
        limit: at most this number of turns of each group; the next run continues.
        close_after: minutes without a new row after which the last turn of a session is closed.
        assume_time: the time of turns without one: an ISO time, UTC without a time zone, or `mtime`
            for the modification time of the archive.
        preprocessing: instructions for the model in this run: the name of a template, the text
            itself, or `none`.
        reflexion: reflexion passes of this run.
        budget: the budget of this run: `5usd`, `200k tokens`, or a list of one of each.
        questions: a file with search probes for the comparison; by default they are made of old
            facts.
        cutover: whether the groups are cut over to the turns. By default they stay as they are.
        accept: whether a cutover needs no comparison that passed.

    Returns:
        The objects that the commands `turnetl migrate` print, by stage. The run is Failed, with the
        reason in one sentence, if a stage failed or a cutover was refused.
    """
    # The process of a flow run is its own.
    os.umask(UMASK)
    try:
        settings = load_run_settings(
            config,
            lake,
            graph,
            budget=budget,
            extractor=extractor,
            close_after_minutes=close_after,
        )
        with each_once():
            outcome = await pipeline.migrate(
                absolute_paths(archives),
                settings,
                pipeline.MigrationOptions(tuple(groups or ()), format, _path(plan_file)),
                pipeline.RunOptions(
                    limit=limit,
                    assumed_time=assumed.read(assume_time, now()) if assume_time else None,
                    preprocessing=preprocessing,
                    reflexion=reflexion,
                    command=("flow", "migrate"),
                ),
                now,
                cutover=pipeline.CutoverOptions(cutover, accept, _path(questions)),
                executor=PrefectTasks(batch_size=None),
                on_planned=publish_migration_plan,
                on_compared=publish_comparison,
            )
    except TurnetlError as error:
        return Failed(message=displayed_message(str(error)))
    return _final_state(outcome)


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None


def _final_state(outcome: pipeline.MigrationOutcome) -> State[dict[str, Any]]:
    run = outcome.run
    if is_failure(migration_run.exit_code(run)):
        return _failed(migration_run.messages(run))
    refused = [change for change in outcome.changes if not change.is_done]
    if refused:
        return _failed([text for one in refused for text in migration_change.messages(one)])
    return Completed(message=_summary(outcome), data=msgspec.to_builtins(_reports(outcome)))


def _failed(sentences: list[str]) -> State[dict[str, Any]]:
    first, *more = map(displayed_message, sentences)
    return Failed(message=f"{first} (and {len(more)} more)" if more else first)


def _summary(outcome: pipeline.MigrationOutcome) -> str:
    turns = f"{outcome.run.ingested.committed:,} turns committed"
    if outcome.changes:
        return f"{turns}; {len(outcome.changes):,} groups cut over"
    compared = outcome.comparison.groups if outcome.comparison else ()
    passed = sum(group.passed for group in compared)
    return f"{turns}; {passed:,} of {len(compared):,} groups may be cut over; none was"


def _reports(outcome: pipeline.MigrationOutcome) -> dict[str, Any]:
    planned, compared = outcome.planned, outcome.comparison
    return {
        "plan": migration_plan_output(planned.plan, planned.estimate),
        "run": migration_run_output(outcome.run),
        "compare": None if compared is None else migration_comparison_output(compared),
        "cutover": [migration_change_output(change) for change in outcome.changes],
    }
