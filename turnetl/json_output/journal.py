"""`turnetl journal stats --json` and `turnetl journal prune --json`."""

from typing import Annotated, Any

from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.json_output.base import timestamp
from turnetl.json_output.usage import UsageOutput, usage_values
from turnetl.llm.journal import JournalStats, JournalTotals, PruneResult


class JournalCountsOutput(UsageOutput):
    """Responses in the journal, and what their requests used when they were sent."""

    responses: Annotated[int, described("Responses in the journal.")]
    hits: Annotated[int, described("Requests that the journal answered.")]
    saved_cost: Annotated[
        float | None,
        described("US dollars that the hits saved; null if a price is not known."),
    ]


class JournalStatsOutput(JournalCountsOutput):
    """The contents of the journal."""

    journal: Annotated[str, described("Path of the journal.")]
    bytes: Annotated[int, described("Size on disk.")]
    oldest: Annotated[
        Timestamp | None, described("Time of the oldest response; null if there is none.")
    ]
    newest: Annotated[
        Timestamp | None, described("Time of the newest response; null if there is none.")
    ]
    by_prompt: Annotated[
        dict[str, JournalCountsOutput], described("The same per prompt, sorted by name.")
    ]
    by_model: Annotated[
        dict[str, JournalCountsOutput], described("The same per model, sorted by name.")
    ]


class JournalPruneOutput(JsonOutput):
    """The responses that were removed from the journal."""

    journal: Annotated[str, described("Path of the journal.")]
    responses: Annotated[int, described("Responses removed, or that would be.")]
    bytes: Annotated[int, described("Bytes freed; of a dry run an estimate.")]
    remaining: Annotated[int, described("Responses that stay.")]
    dry_run: Annotated[bool, described("Whether nothing was removed.")]


def journal_stats_output(stats: JournalStats) -> JournalStatsOutput:
    return JournalStatsOutput(
        **_counts(stats.total),
        journal=str(stats.path),
        bytes=stats.bytes,
        oldest=timestamp(stats.oldest),
        newest=timestamp(stats.newest),
        by_prompt={
            prompt: JournalCountsOutput(**_counts(totals))
            for prompt, totals in stats.by_prompt.items()
        },
        by_model={
            model: JournalCountsOutput(**_counts(totals))
            for model, totals in stats.by_model.items()
        },
    )


def journal_prune_output(pruned: PruneResult) -> JournalPruneOutput:
    return JournalPruneOutput(
        journal=str(pruned.path),
        responses=pruned.entries,
        bytes=pruned.bytes,
        remaining=pruned.remaining,
        dry_run=pruned.dry_run,
    )


def _counts(totals: JournalTotals) -> dict[str, Any]:
    return {
        **usage_values(totals.usage),
        "responses": totals.entries,
        "hits": totals.hits,
        "saved_cost": None if totals.saved_cost is None else round(totals.saved_cost, 6),
    }
