"""What a flow run shows in Prefect beside its state and its log."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prefect.artifacts import acreate_markdown_artifact
from prefect.client.schemas.objects import FlowRun
from prefect.runtime import flow_run
from prefect.utilities.urls import url_for

from turnetl.backfill_report import BackfillReport
from turnetl.views import digest, migration, status
from turnetl.views.markdown import escaped, markdown

if TYPE_CHECKING:
    from turnetl import pipeline
    from turnetl.migration.comparison import MigrationComparison
    from turnetl.migration.migration_report import EstimatedMigration

REPORT = "report"
DIGEST = "digest"
SHARDS = "shards"
SUMMARIES = "summaries"
MIGRATION_PLAN = "migration-plan"
MIGRATION_COMPARISON = "migration-comparison"
"""Keys of artifacts."""


async def publish_report(page: str) -> None:
    """Publish the report of an ingest, with a link to its run."""
    link = f"[{escaped(str(flow_run.name))}]({url_for('flow-run', obj_id=flow_run.id)})"
    await acreate_markdown_artifact(
        f"{link}\n\n{page}",
        key=REPORT,
        description="Groups, cost by prompt, and quarantined turns of a run.",
    )


def page_link(path: Path, host: str) -> str:
    """Return a paragraph with a link to the page on everything, for the machine that has it."""
    return (
        f"[Report on everything]({path.as_uri()}) (`{escaped(str(path))}` on {escaped(host)})\n\n"
    )


async def publish_digest(found: "pipeline.Digest") -> None:
    text = markdown(digest.view(found), title="Digest")
    await acreate_markdown_artifact(text, key=DIGEST, description="What happened, by project.")


async def publish_summaries(report: BackfillReport) -> None:
    """Publish the decisions about summaries of each group, if there were any."""
    if table := status.summaries(report.ingested.groups):
        await acreate_markdown_artifact(
            markdown(table),
            key=SUMMARIES,
            description="Decisions about summaries of entities, by reason.",
        )


async def publish_migration_plan(planned: "EstimatedMigration") -> None:
    await acreate_markdown_artifact(
        markdown(migration.plan_view(planned)),
        key=MIGRATION_PLAN,
        description="Session-level data by group and class, and the estimate of the run.",
    )


async def publish_comparison(compared: "MigrationComparison") -> None:
    await acreate_markdown_artifact(
        markdown(migration.comparison_view(compared)),
        key=MIGRATION_COMPARISON,
        description="Session-level data beside the turns, by group.",
    )


async def publish_shards(runs: Sequence[FlowRun]) -> None:
    lines = [
        f"- [{escaped(run.name)}]({url_for('flow-run', obj_id=run.id)}): "
        f"**{escaped(str(run.state_name))}**: {escaped((run.state and run.state.message) or '-')}"
        for run in runs
    ]
    await acreate_markdown_artifact(
        "\n".join(lines), key=SHARDS, description="How each shard of a run ended."
    )
