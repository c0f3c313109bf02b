"""What a flow run shows in Prefect beside its state and its log."""

from prefect.artifacts import acreate_markdown_artifact

from turnetl.backfill_report import BackfillReport
from turnetl.report import summary_counts

SUMMARIES = "summaries"
"""The key of the artifact."""


async def publish_summaries(report: BackfillReport) -> None:
    """Publish the decisions about summaries of each group; nothing if there were none."""
    if table := summary_counts.markdown(report.ingested.groups):
        await acreate_markdown_artifact(
            table, key=SUMMARIES, description="Decisions about summaries of entities, by reason."
        )
