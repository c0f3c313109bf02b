"""What a flow run shows in Prefect beside its state and its log."""

from typing import TYPE_CHECKING

from prefect.artifacts import acreate_markdown_artifact

from turnetl.backfill_report import BackfillReport
from turnetl.report import migration_comparison, migration_plan, summary_counts

if TYPE_CHECKING:
    from turnetl import pipeline

SUMMARIES = "summaries"
MIGRATION_PLAN = "migration-plan"
MIGRATION_COMPARISON = "migration-comparison"
"""Keys of artifacts."""


async def publish_summaries(report: BackfillReport) -> None:
    """Publish the decisions about summaries of each group; nothing if there were none."""
    if table := summary_counts.markdown(report.ingested.groups):
        await acreate_markdown_artifact(
            table, key=SUMMARIES, description="Decisions about summaries of entities, by reason."
        )


async def publish_migration_plan(planned: "pipeline.EstimatedMigration") -> None:
    """Publish the classes of episodes of each group, and what a run takes."""
    await acreate_markdown_artifact(
        migration_plan.markdown(planned.plan, planned.estimate),
        key=MIGRATION_PLAN,
        description="Session-level data by group and class, and the estimate of the run.",
    )


async def publish_comparison(compared: "pipeline.MigrationComparison") -> None:
    """Publish what each group loses and gains, and whether it may be cut over."""
    await acreate_markdown_artifact(
        migration_comparison.markdown(compared),
        key=MIGRATION_COMPARISON,
        description="Session-level data beside the turns, by group.",
    )
