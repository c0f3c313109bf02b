"""A shard of a backfill as a flow: the child of `backfill-sharded`, one on each free worker."""

from datetime import datetime
from typing import Any

from prefect import State, flow
from pydantic import PositiveInt

from flows import parameters
from flows.backfill_run import BackfillParameters
from flows.run_flow import VERSION, run_flow
from flows.run_settings import SettingSources
from flows.stages import DAY
from turnetl.base.shard import Shard
from turnetl.settings import ExtractorName


@flow(
    name="shard",
    flow_run_name=parameters.shard_name,
    version=VERSION,
    timeout_seconds=DAY,
    persist_result=False,
)
async def shard(
    archives: parameters.ArchivePatterns,
    *,
    shard: parameters.ShardName,
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
) -> State[dict[str, Any]]:
    """Do one part of a backfill: parse archives, filter and ingest the groups of the shard.

    Shards run in any order and on any machine that sees the archives and the lake; the graph is one
    on Neo4j, unless they run one after the other.

    Args:
        archives: files, folders or globs: absolute paths, paths that start with `~`, or URLs of an
            object store.
        shard: number of this shard and of all, such as `2/8`.
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

    Returns:
        As the flow `backfill`, for the groups of the shard.
    """
    given = locals()
    own = given.pop("shard")
    run = BackfillParameters(**given).run
    return await run_flow(lambda: run("shard", shard=Shard.parse(own)))
