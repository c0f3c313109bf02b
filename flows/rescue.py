"""The rescue as a flow: archives to the lake, before the agents delete them."""

from typing import Any

from prefect import State, flow
from prefect.states import Completed
from pydantic import PositiveInt

from flows.executor import PrefectTasks
from flows.ingest_archives import log_problems
from flows.parameters import AbsolutePath, ArchivePatterns, LakeLocation, archives_name
from flows.progress import ProgressArtifacts
from flows.run_flow import VERSION, failed, run_flow
from flows.run_settings import SettingSources, absolute_paths, load_run_settings
from flows.stages import HOUR
from turnetl import pipeline
from turnetl.base.results import plain
from turnetl.views import parse as view


@flow(
    name="rescue",
    flow_run_name=archives_name,
    version=VERSION,
    timeout_seconds=6 * HOUR,
    persist_result=False,
)
async def rescue(
    archives: ArchivePatterns,
    *,
    lake: LakeLocation | None = None,
    config: AbsolutePath | None = None,
    settings_from: SettingSources | None = None,
    group: str | None = None,
    group_map: AbsolutePath | None = None,
    format: str | None = None,  # noqa: A002 - named as the option of the command
    batch_size: PositiveInt = 200,
    jobs: PositiveInt | None = None,
) -> State[dict[str, Any]]:
    """Parse archives into the lake. Opens no graph and sends no request.

    Args:
        archives: files, folders or globs: absolute paths, paths that start with `~`, or URLs of an
            object store.
        lake: folder of the tables, or its URL in an object store.
        config: path of a JSON config.
        settings_from: settings that are read from Prefect's Secret blocks and variables, such as
            {"lake": "variable/turnetl_lake"}.
        group: the group of all turns, instead of one group per project: a name, or a template of
            {project}, {format}, {user} and {host}.
        group_map: path of a TOML file with exceptions from that.
        format: the format of all archives, instead of detection by content.
        batch_size: archives per task.
        jobs: archives of a task that are parsed in parallel; by default one per core.

    Returns:
        The report that `turnetl parse --json` prints, without its files. The run is Failed, with
        the reason in one sentence, if an archive could not be read; the others are in the lake.
    """

    async def work() -> State[dict[str, Any]]:
        settings = await load_run_settings(
            config,
            lake,
            None,
            settings_from=settings_from,
            group=group,
            group_map=group_map,
            jobs=jobs,
        )
        async with ProgressArtifacts().publishing() as progress:
            report = await pipeline.parse(
                absolute_paths(archives),
                settings,
                format_name=format or None,
                executor=PrefectTasks(batch_size),
                progress=progress,
            )
        log_problems(report)
        if errors := view.errors(report):
            return failed(errors)
        return Completed(message="; ".join(view.lines(report)), data=plain(report))

    return await run_flow(work)
