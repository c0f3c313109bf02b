"""What turns take, the plan of a run, and the estimates that the lake keeps for a comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from turnetl.base.model import Usage
from turnetl.base.result_fields import GroupField
from turnetl.base.results import INLINED, described
from turnetl.estimation.sample import UsageRange, Workload
from turnetl.ingestion import estimate_record
from turnetl.ingestion.estimate_record import EstimateMethod, Range, RecordedEstimate, workload_id
from turnetl.ingestion.reasons import PendingReason
from turnetl.parsing import ParseReport

Work = Literal["ingest", "backfill", "redo"]


@dataclass(frozen=True, slots=True)
class GroupEstimate:
    """The turns of a group that would be ingested, and what they are expected to take."""

    group: GroupField
    turns: Annotated[int, described("Turns to ingest.")]
    chars: Annotated[int, described("Characters of these episodes.")]
    chunks: Annotated[int, described("Episodes as which they are ingested.")]
    text_tokens: Annotated[int, described("Estimated tokens of these episodes.")]
    requests: Annotated[int, described("Expected attempts of requests.")] = 0
    tokens: Annotated[int, described("Expected tokens of prompts and responses.")] = 0
    cost: Annotated[
        float | None, described("Expected US dollars; null if a price is unknown.", digits=6)
    ] = 0.0


@dataclass(frozen=True, slots=True)
class PilotSummary:
    """What the pilot did."""

    asked: Annotated[int, described("Turns that were asked for.")]
    turns: Annotated[int, described("Turns that it extracted; at most the pending ones.")]
    failed: Annotated[int, described("Turns of these that cannot be ingested.")]
    usage_by_prompt: Annotated[
        Mapping[str, Usage],
        described("The same per prompt, sorted by name.", name="by_prompt"),
    ]
    stopped: Annotated[str | None, described("Why it ended early; null if it did not.")]

    @property
    def usage(self) -> Annotated[Usage, described("What it paid.")]:
        return sum(self.usage_by_prompt.values(), Usage())


@dataclass(frozen=True, slots=True)
class Estimate:
    """What turns will take from now on.

    What the journal answers is not part of it.
    """

    method: Annotated[
        EstimateMethod,
        described(
            "`pilot`: turns extracted now; `history`: turns that the model extracted before; "
            "`bounds`: the prompts of the extraction alone, so that all amounts are lower bounds; "
            "`journal`: every response is known; `no_model`: no request is sent."
        ),
    ]
    extractor: Annotated[str, described("Extractor of the run.")]
    model: Annotated[str | None, described("Model with its provider; null without a model.")]
    groups: Annotated[tuple[GroupEstimate, ...], described("The groups, sorted by name.")]
    total: Annotated[UsageRange, described("All requests that the run will send.")]
    by_prompt: Annotated[
        Mapping[str, UsageRange],
        described("The same per prompt, sorted by name; the ends do not add up to the total's."),
    ]
    basis: Annotated[int, described("Turns from which it was computed.")]
    answered_turns: Annotated[
        int, described("Turns of which the journal answers every request: they cost nothing.")
    ]
    answered: Annotated[Usage, described("What these responses cost when they were paid.")]
    answered_requests: Annotated[
        int, described("Requests of the turns that the journal answers, and that are not sent.")
    ]
    seconds: Annotated[Range | None, described("Wall time; null if it is unknown.", digits=1)]
    disk: Annotated[
        Mapping[str, Range],
        described("Bytes by what grows: graph, index, journal. Without a graph on a server."),
    ]
    pilot: Annotated[PilotSummary | None, described("The pilot; null if there was none.")]
    missing_prices: Annotated[
        tuple[str, ...], described("How to add the prices of models that have none.")
    ]

    @property
    def turns(self) -> Annotated[int, described("Turns to ingest.")]:
        return sum(group.turns for group in self.groups)


@dataclass(frozen=True, slots=True)
class PlanReport:
    """What the turns of a run will take from now on."""

    work: Annotated[Work, described("The command that ingests the turns.")]
    estimate: Annotated[Estimate, INLINED]
    errors: Annotated[tuple[str, ...], described("Groups that are not part of it, and why.")] = ()
    pending: Annotated[
        Mapping[PendingReason, int],
        described(
            "Pending turns that the run would leave out.", keys=PendingReason, name="left_out"
        ),
    ] = field(default_factory=dict)
    parsed: Annotated[
        ParseReport | None, described("What a backfill would read; null without archives.")
    ] = None
    exit_code: int = 0


def record_estimate(
    lake: Path, workloads: Sequence[Workload], estimate: Estimate, made_at: datetime
) -> None:
    """Keep an estimate of turns in the lake, as a whole and by group."""
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
