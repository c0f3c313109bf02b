"""Deferred summaries as a flow."""

from typing import Any

from prefect import State, flow
from prefect.states import Completed

from flows.executor import PrefectTasks
from flows.parameters import AbsolutePath, Budget, GraphUrl, LakeLocation, Names, groups_name
from flows.progress import ProgressArtifacts
from flows.run_flow import VERSION, budget_stopped, failed, run_flow
from flows.run_settings import SettingSources, load_run_settings
from flows.stages import DAY
from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.base.exit_code import is_failure
from turnetl.base.results import plain
from turnetl.base.text import plural
from turnetl.settings import ExtractorName
from turnetl.views import summarize as view


@flow(
    name="summarize",
    flow_run_name=groups_name,
    version=VERSION,
    timeout_seconds=DAY,
    persist_result=False,
)
async def summarize(
    *,
    groups: Names | None = None,
    lake: LakeLocation | None = None,
    graph: GraphUrl | None = None,
    config: AbsolutePath | None = None,
    settings_from: SettingSources | None = None,
    extractor: ExtractorName | None = None,
    budget: Budget | None = None,
    edited: bool = False,
) -> State[dict[str, Any]]:
    """Write the summaries of entities that runs deferred and did not write.

    Args:
        groups: group ids or project names; by default all groups.
        lake: folder of the tables, or its URL in an object store.
        graph: URL of the graph, without a password.
        config: path of a JSON config.
        settings_from: settings that are read from Prefect's Secret blocks and variables, such as
            {"llm.api_key": "secret/openai", "lake": "variable/turnetl_lake"}.
        extractor: `structural` writes them by rules; the others let the model write them.
        budget: the budget of this run: `5usd`, `200k tokens`, or a list of one of each.
        edited: also write the summaries again that were edited by hand.

    Returns:
        The report that `turnetl summarize --json` prints. The run is Failed, with the reason in one
        sentence, if a group could not be written, and BudgetStopped if only the budget ended it.
    """

    async def work() -> State[dict[str, Any]]:
        settings = await load_run_settings(
            config,
            lake,
            graph,
            settings_from=settings_from,
            budget=budget,
            extractor=extractor,
        )
        async with ProgressArtifacts().publishing() as progress:
            report = await PrefectTasks(batch_size=None).run_stage(
                "summaries",
                lambda: pipeline.summarize(
                    settings, now, groups or (), edited=edited, progress=progress
                ),
            )
        data = plain(report)
        if view.is_budget_stop(report):
            return budget_stopped(view.errors(report)[0], data)
        if is_failure(view.exit_code(report)):
            return failed(view.errors(report))
        return Completed(
            message=f"{plural(report.written, 'summary', 'summaries')} written", data=data
        )

    return await run_flow(work)
