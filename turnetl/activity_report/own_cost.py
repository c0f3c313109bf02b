"""What turnetl itself paid for models: by prompt, by group and by run."""

from collections.abc import Sequence

from turnetl.activity_report import limits
from turnetl.activity_report.model import Listed, NamedUsage, OwnCost, ReportedRun
from turnetl.ingestion.report import GroupReport
from turnetl.ingestion.run_report import RecordedRun, RunsReport
from turnetl.llm.journal import JournalStats


def own_cost(
    journal: JournalStats | None, groups: Sequence[GroupReport], runs: RunsReport | None
) -> OwnCost:
    """Return the cost.

    Args:
        journal: of the lake; None if it cannot be read.
        groups: the status of the groups.
        runs: of the graph, newest first; None if it cannot be read.
    """
    by_prompt = {} if journal is None else journal.by_prompt
    recorded = () if runs is None else runs.runs
    return OwnCost(
        by_prompt=tuple(NamedUsage(name or "-", one.usage) for name, one in by_prompt.items()),
        saved=0.0 if journal is None else journal.total.saved_cost,
        by_group=tuple(
            NamedUsage(group.group, group.usage)
            for group in groups
            if group.usage is not None and group.usage.calls
        ),
        runs=Listed(tuple(map(_run, recorded[: limits.RUNS])), 0 if runs is None else runs.count),
    )


def _run(recorded: RecordedRun) -> ReportedRun:
    run = recorded.run
    return ReportedRun(
        run_id=run.run_id,
        started_at=run.started_at,
        state=recorded.state.value,
        committed=run.committed,
        quarantined=run.quarantined,
        model=run.model,
        usage=run.usage,
    )
