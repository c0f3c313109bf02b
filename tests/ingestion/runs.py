"""Plan, report and ingest one group, as a run does."""

from turnetl.base.errors import TurnetlError
from turnetl.base.ids import RecipeParts
from turnetl.base.model import GroupId
from turnetl.graph.port import GraphStore
from turnetl.ingestion.group import (
    GroupPlan,
    IngestResources,
    group_status,
    ingest_group,
    plan_group,
    unplanned_report,
)
from turnetl.ingestion.ingest_report import GroupReport
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.plan import Scope
from turnetl.lake import Lake

CONTEXT_TURNS = 3


async def plan(group: GroupId, resources: IngestResources, scope: Scope) -> GroupPlan:
    return await plan_group(
        group,
        resources.lake,
        resources.store,
        scope,
        recipe=resources.extractor.recipe_parts,
        context_turns=CONTEXT_TURNS,
    )


async def ingest(
    group: GroupId, resources: IngestResources, scope: Scope, run: IngestRun
) -> GroupReport:
    try:
        planned = await plan(group, resources, scope)
    except TurnetlError as error:
        return unplanned_report(group, resources.lake, error)
    return await ingest_group(planned, resources, run, lambda _done, _total: None)


async def status(
    group: GroupId, lake: Lake, store: GraphStore, scope: Scope, *, recipe: RecipeParts | None
) -> GroupReport:
    by_kind = None if recipe is None else lambda *_: recipe
    planned = await plan_group(
        group, lake, store, scope, recipe=by_kind, context_turns=CONTEXT_TURNS
    )
    return await group_status(planned, lake, store)
