"""What turnetl itself paid for models: by prompt, by group and by run."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import add

from turnetl.activity_report import model
from turnetl.activity_report.model import Listed, NamedUsage, OwnCost, ReportedRun
from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId, Usage
from turnetl.ingestion.run_report import RecordedRun, RunsReport
from turnetl.llm.journal import JournalStats


def own_cost(
    journal: JournalStats | None, by_group: Mapping[GroupId, Usage], runs: RunsReport | None
) -> OwnCost:
    """Return the cost. None: a part that cannot be read. `by_group`: of the turns in the graph."""
    by_prompt = {} if journal is None else journal.by_prompt
    recorded = () if runs is None else runs.runs
    return OwnCost(
        by_prompt=tuple(NamedUsage(name or "-", one.usage) for name, one in by_prompt.items()),
        saved=0.0 if journal is None else journal.total.saved_cost,
        by_group=tuple(NamedUsage(group, one) for group, one in by_group.items() if one.calls),
        runs=Listed(tuple(map(_run, recorded[: model.RUNS])), 0 if runs is None else runs.count),
    )


def usage_in_range(
    receipts: Mapping[GroupId, Sequence[Receipt]], since: datetime | None, until: datetime | None
) -> dict[GroupId, Usage]:
    """Return the usage of the turns that started in a time, by group. None: no limit."""
    return {
        group: reduce(add, (one.usage for one in of_group if _is_in(one, since, until)), Usage())
        for group, of_group in receipts.items()
    }


def _is_in(receipt: Receipt, since: datetime | None, until: datetime | None) -> bool:
    started_at = receipt.started_at
    return (since is None or started_at >= since) and (until is None or started_at < until)


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
