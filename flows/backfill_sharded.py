"""A backfill over several workers as a flow: it starts its shards, and waits for them."""

from datetime import datetime

from prefect import State, flow
from pydantic import PositiveInt

from flows import parameters
from flows.backfill_run import BackfillParameters
from flows.run_flow import VERSION, run_flow
from flows.run_settings import SettingSources
from flows.shard_runs import ShardRuns
from flows.stages import DAY
from turnetl.settings import ExtractorName


@flow(
    name="backfill-sharded",
    flow_run_name=parameters.archives_name,
    version=VERSION,
    timeout_seconds=DAY,
    persist_result=False,
)
async def backfill_sharded(
    archives: parameters.ArchivePatterns,
    *,
    shards: parameters.ShardCount = 4,
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
) -> State[None]:
    """Divide a backfill into shards, each a run of the deployment `shard/shard`.

    This run only waits for them. It needs a worker of its own: see docs/distributed.md.

    Args:
        archives: files, folders or globs: absolute paths, paths that start with `~`, or URLs of an
            object store.
        shards: number of parts.
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
        budget: the budget of all shards together: `5usd`, `200k tokens`, or a list of one of each.
            Each may use its part of it.
        batch_size: archives per task.
        jobs: archives of a task that are parsed in parallel; by default one per core.
        group_concurrency: groups ingested in parallel; turns of one group never are.
        model_slots: a global concurrency limit, shared by all flows that use the same model; an
            ingest occupies as many of its slots as the setting `llm.concurrency`.

    Returns:
        Completed if all shards are; BudgetStopped if the budget ended one and nothing failed; else
        Failed, with the first reason. The artifact `shards` shows how each ended.
    """
    given = locals()
    count = given.pop("shards")
    children = ShardRuns(BackfillParameters(**given), count)
    return await run_flow(children.run)
