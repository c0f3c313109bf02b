"""The nightly run as a flow: what is new goes into the graph, with a digest of what happened."""

from typing import Annotated, Any

from prefect import State, flow, get_run_logger
from pydantic import Field, PositiveInt

from flows import parameters
from flows.artifacts import publish_digest
from flows.executor import PrefectTasks
from flows.ingest_archives import backfill_state, ingest_archives
from flows.run_flow import VERSION, run_flow
from flows.run_settings import SettingSources, load_run_settings
from flows.stages import DAY
from turnetl import pipeline
from turnetl.backfill_report import BackfillReport
from turnetl.base.clock import now
from turnetl.base.control_characters import displayed_message
from turnetl.base.errors import TurnetlError
from turnetl.ingestion import plan as assumed
from turnetl.settings import ExtractorName, Settings
from turnetl.views import summarize as summaries


@flow(
    name="nightly",
    flow_run_name=parameters.dated_name,
    version=VERSION,
    timeout_seconds=DAY,
    persist_result=False,
)
async def nightly(
    archives: parameters.ArchivePatterns,
    *,
    lake: parameters.LakeLocation | None = None,
    graph: parameters.GraphUrl | None = None,
    config: parameters.AbsolutePath | None = None,
    settings_from: SettingSources | None = None,
    group: str | None = None,
    group_map: parameters.AbsolutePath | None = None,
    extractor: ExtractorName | None = None,
    assume_time: parameters.TimeToAssume | None = None,
    budget: parameters.Budget | None = None,
    batch_size: PositiveInt = 200,
    jobs: PositiveInt | None = None,
    group_concurrency: PositiveInt | None = None,
    model_slots: str | None = None,
    digest_days: Annotated[int, Field(ge=1, le=31)] = 1,
    summarize: bool = True,
    report_file: parameters.AbsolutePath | None = None,
) -> State[dict[str, Any]]:
    """Ingest what is new, write deferred summaries, and publish a digest of the last days.

    Args:
        archives: files, folders or globs: absolute paths, paths that start with `~`, or URLs of an
            object store.
        lake: folder of the tables, or its URL in an object store.
        graph: URL of the graph, without a password.
        config: path of a JSON config.
        settings_from: settings that are read from Prefect's Secret blocks and variables, such as
            {"llm.api_key": "secret/openai", "lake": "variable/turnetl_lake"}.
        group: the group of all turns, instead of one group per project: a name, or a template of
            {project}, {format}, {user} and {host}.
        group_map: path of a TOML file with exceptions from that.
        extractor: the extractor of entities and facts.
        assume_time: the time of turns without one: an ISO time, UTC without a time zone, or `mtime`
            for the modification time of the archive.
        budget: the budget of this run: `5usd`, `200k tokens`, or a list of one of each.
        batch_size: archives per task.
        jobs: archives of a task that are parsed in parallel; by default one per core.
        group_concurrency: groups ingested in parallel; turns of one group never are.
        model_slots: a global concurrency limit, shared by all flows that use the same model; an
            ingest occupies as many of its slots as the setting `llm.concurrency`.
        digest_days: the digest begins this many days before today, in UTC.
        summarize: whether the summaries that earlier runs deferred are written too, with what the
            ingest leaves of the budget. What could not be written is a warning in the log.
        report_file: path of a page that `turnetl report` writes after the ingest, on the machine of
            the worker; the artifact `report` links to it. If it cannot be written, that is a
            warning in the log.

    Returns:
        As the flow `backfill`.
    """

    async def work() -> State[dict[str, Any]]:
        settings = await load_run_settings(
            config,
            lake,
            graph,
            settings_from=settings_from,
            budget=budget,
            group=group,
            group_map=group_map,
            jobs=jobs,
            extractor=extractor,
            group_concurrency=group_concurrency,
        )
        options = pipeline.RunOptions(
            assumed_time=assumed.parse_assumed_time(assume_time, now()) if assume_time else None,
            command=("flow", "nightly"),
        )
        executor = PrefectTasks(batch_size, model_slots, settings.llm.concurrency)
        report = await ingest_archives(
            archives, settings, options, report_file=report_file, executor=executor
        )
        if summarize:
            await _write_deferred(report, settings, executor)
        if report.ingested.groups:
            found = await executor.run_stage(
                "digest", lambda: pipeline.recent_digest(settings, now, days=digest_days)
            )
            await publish_digest(found.value)
        return backfill_state(report)

    return await run_flow(work)


async def _write_deferred(
    report: BackfillReport, settings: Settings, executor: PrefectTasks
) -> None:
    """Write the summaries that earlier runs deferred; log how many, and what was not written."""
    log = get_run_logger()
    try:
        async with executor.ingesting():
            done = await executor.run_stage(
                "summaries", lambda: pipeline.summarize_after(report.ingested, settings, now)
            )
    except TurnetlError as error:
        # The turns are committed: the next night continues.
        log.warning(displayed_message(str(error)))
        return
    log.info("%s deferred summaries written", f"{done.written:,}")
    for problem in summaries.errors(done):
        log.warning(displayed_message(problem))
