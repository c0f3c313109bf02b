"""The backfill as a flow: one task per batch of archives, one for the filter, one per group.

The graph, not Prefect, records what is done. A run may be killed, repeated or started twice: each
turn is committed once.
"""

from datetime import datetime
from typing import Any

from prefect import State, flow
from pydantic import PositiveInt

from flows import parameters
from flows.backfill_run import BackfillParameters
from flows.run_flow import VERSION, run_flow
from flows.run_settings import SettingSources
from flows.stages import DAY
from turnetl.settings import ExtractorName


@flow(
    name="backfill",
    flow_run_name=parameters.archives_name,
    version=VERSION,
    timeout_seconds=DAY,
    persist_result=False,
)
async def backfill(
    archives: parameters.ArchivePatterns,
    *,
    lake: parameters.LakeLocation | None = None,
    graph: parameters.GraphUrl | None = None,
    group: str | None = None,
    group_map: parameters.AbsolutePath | None = None,
    format: str | None = None,  # noqa: A002 - named as the option of the command
    extractor: ExtractorName | None = None,
    config: parameters.AbsolutePath | None = None,
    settings_from: SettingSources | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: parameters.Turns | None = None,
    close_after: parameters.Minutes | None = None,
    assume_time: parameters.TimeToAssume | None = None,
    preprocessing: str | None = None,
    reflexion: parameters.Passes | None = None,
    budget: parameters.Budget | None = None,
    batch_size: PositiveInt = 200,
    jobs: PositiveInt | None = None,
    group_concurrency: PositiveInt | None = None,
    model_slots: str | None = None,
    engine: parameters.Engine = "local",
) -> State[dict[str, Any]]:
    """Parse, filter and ingest archives. What an earlier run did is not repeated.

    Args:
        archives: files, folders or globs: absolute paths, paths that start with `~`, or URLs of an
            object store.
        lake: folder of the tables, or its URL in an object store.
        graph: URL of the graph, without a password.
        group: the group of all turns, instead of one group per project: a name, or a template of
            {project}, {format}, {user} and {host}.
        group_map: path of a TOML file with exceptions from that.
        format: the format of all archives, instead of detection by content.
        extractor: the extractor of entities and facts.
        config: path of a JSON config.
        settings_from: settings that are read from Prefect's Secret blocks and variables, such as
            {"llm.api_key": "secret/openai", "lake": "variable/turnetl_lake"}.
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
        engine: `local`, or `dask:tcp://HOST:PORT`: the workers of a Dask cluster parse packs of
            archives, and filter and ingest packs of whole groups.

    Returns:
        The report that `turnetl backfill --json` prints. The run is Failed, with the reason in one
        sentence, if anything was rejected, and BudgetStopped if only the budget ended it;
        everything else is done nevertheless.
    """
    given = locals()
    own = given.pop("engine")
    run = BackfillParameters(**given).run
    return await run_flow(lambda: run("backfill", engine=own))
