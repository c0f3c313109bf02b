"""The migration of session-level data as a flow: plan, run, compare and, if told, cutover.

The graph, not Prefect, records how far a migration is. A run may be killed or repeated.
"""

from pathlib import Path
from typing import Any

from prefect import State, flow
from prefect.states import Completed

from flows import parameters
from flows.artifacts import publish_comparison, publish_migration_plan
from flows.events import emit_ingested
from flows.executor import PrefectTasks
from flows.progress import ProgressArtifacts
from flows.run_flow import VERSION, budget_stopped, failed, run_flow
from flows.run_settings import SettingSources, absolute_paths, load_run_settings
from flows.stages import DAY
from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.base.results import plain
from turnetl.base.text import plural
from turnetl.ingestion import plan as assumed
from turnetl.migration import stages
from turnetl.migration.plan import MigrationOptions
from turnetl.settings import ExtractorName
from turnetl.views import ingest, migration, migration_change


@flow(
    name="migrate",
    flow_run_name=parameters.archives_name,
    version=VERSION,
    timeout_seconds=2 * DAY,
    persist_result=False,
)
async def migrate(
    archives: parameters.ArchivePatterns,
    *,
    groups: parameters.Names | None = None,
    plan_file: parameters.AbsolutePath | None = None,
    format: parameters.Name | None = None,  # noqa: A002 - named as the option of the command
    lake: parameters.LakeLocation | None = None,
    graph: parameters.GraphUrl | None = None,
    config: parameters.AbsolutePath | None = None,
    settings_from: SettingSources | None = None,
    extractor: ExtractorName | None = None,
    limit: parameters.Turns | None = None,
    close_after: parameters.Minutes | None = None,
    assume_time: parameters.TimeToAssume | None = None,
    preprocessing: str | None = None,
    reflexion: parameters.Passes | None = None,
    budget: parameters.Budget | None = None,
    questions: parameters.AbsolutePath | None = None,
    cutover: bool = False,
    accept: bool = False,
) -> State[dict[str, Any]]:
    """Replace the session-level data of a graph by turns, up to the comparison or the cutover.

    Args:
        archives: files, folders or globs: absolute paths, paths that start with `~`, or URLs of an
            object store.
        groups: group ids; by default all groups that hold session-level data.
        plan_file: a file of `turnetl migrate plan --write` in which a person settled ambiguous
            episodes.
        format: the format of all archives, instead of detection by content.
        lake: folder of the tables, or its URL in an object store.
        graph: URL of the graph, without a password.
        config: path of a JSON config.
        settings_from: settings that are read from Prefect's Secret blocks and variables, such as
            {"llm.api_key": "secret/openai", "lake": "variable/turnetl_lake"}.
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
        reason in one sentence, if a stage failed or a cutover was refused, and BudgetStopped if the
        budget ended it.
    """

    async def work() -> State[dict[str, Any]]:
        settings = await load_run_settings(
            config,
            lake,
            graph,
            settings_from=settings_from,
            budget=budget,
            extractor=extractor,
            close_after_minutes=close_after,
        )
        async with ProgressArtifacts().publishing() as progress:
            outcome = await stages.migrate(
                absolute_paths(archives),
                settings,
                MigrationOptions(tuple(groups or ()), format, _path(plan_file)),
                pipeline.RunOptions(
                    limit=limit,
                    assumed_time=assumed.parse_assumed_time(assume_time, now())
                    if assume_time
                    else None,
                    preprocessing=preprocessing,
                    reflexion=reflexion,
                    command=("flow", "migrate"),
                ),
                now,
                cutover=stages.CutoverOptions(cutover, accept, _path(questions)),
                executor=PrefectTasks(batch_size=None),
                on_planned=publish_migration_plan,
                on_compared=publish_comparison,
                progress=progress,
            )
        emit_ingested(outcome.run.ingested)
        return _final_state(outcome)

    return await run_flow(work)


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None


def _final_state(outcome: stages.MigrationOutcome) -> State[dict[str, Any]]:
    run = outcome.run
    if ingest.is_budget_stop(run.ingested):
        return budget_stopped(migration.errors(run)[0], _reports(outcome))
    if outcome.has_failed_run:
        return failed(migration.errors(run))
    refused = [change for change in outcome.changes if not change.is_done]
    if refused:
        return failed([text for one in refused for text in migration_change.messages(one)])
    return Completed(message=summary(outcome), data=_reports(outcome))


def summary(outcome: stages.MigrationOutcome) -> str:
    """Return the message of a flow that ended well."""
    turns = f"{plural(outcome.run.ingested.committed, 'turn')} committed"
    if outcome.changes:
        return f"{turns}; {plural(len(outcome.changes), 'group')} cut over"
    compared = outcome.comparison.groups if outcome.comparison else ()
    passed = sum(group.passed for group in compared)
    return f"{turns}; {passed:,} of {plural(len(compared), 'group')} may be cut over; none was"


def _reports(outcome: stages.MigrationOutcome) -> dict[str, Any]:
    reports = {
        "plan": outcome.planned,
        "run": outcome.run,
        "compare": outcome.comparison,
        "cutover": outcome.changes,
    }
    return {stage: plain(report) for stage, report in reports.items()}
