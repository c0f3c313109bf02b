"""Estimates as the lake keeps them, to be compared with the run."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from turnetl.estimation.report import Estimate, GroupEstimate
from turnetl.estimation.workload import Workload
from turnetl.ingestion import estimate_record
from turnetl.ingestion.estimate_record import RecordedEstimate, workload_id


def record_estimate(
    lake: Path, workloads: Sequence[Workload], estimate: Estimate, made_at: datetime
) -> None:
    """Keep an estimate in the lake, as a whole and by group.

    Args:
        lake: the folder of the lake.
        workloads: the turns, group by group.
        estimate: of them.
        made_at: the current time.
    """
    turns = [turn for workload in workloads for turn in workload.plan.turns.to_commit]
    whole = RecordedEstimate(
        workload=workload_id(turns, estimate.extractor, estimate.model),
        made_at=made_at,
        method=estimate.method,
        turns=len(turns),
        requests=estimate.total.requests,
        tokens=estimate.total.tokens,
        cost=estimate.total.cost,
        seconds=estimate.seconds,
    )
    groups = {group.group: group for group in estimate.groups}
    parts = [
        _part(whole, workload, estimate, groups[workload.group])
        for workload in workloads
        if len(workloads) > 1
    ]
    estimate_record.save(lake, whole, parts)


def _part(
    whole: RecordedEstimate, workload: Workload, estimate: Estimate, group: GroupEstimate
) -> RecordedEstimate:
    """Return the part of a group: each range by the group's share of what is expected."""
    turns = workload.plan.turns.to_commit
    of_turns = len(turns) / max(whole.turns, 1)
    of_tokens = _share(group.tokens, [one.tokens for one in estimate.groups], of_turns)
    of_requests = _share(group.requests, [one.requests for one in estimate.groups], of_turns)
    return replace(
        whole,
        workload=workload_id(turns, estimate.extractor, estimate.model),
        turns=len(turns),
        requests=whole.requests * of_requests,
        tokens=whole.tokens * of_tokens,
        cost=None if whole.cost is None else whole.cost * of_tokens,
        seconds=None if whole.seconds is None else whole.seconds * of_requests,
    )


def _share(amount: float, all_amounts: Sequence[float], otherwise: float) -> float:
    total = sum(all_amounts)
    return amount / total if total else otherwise
