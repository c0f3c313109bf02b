"""What a turn does with summaries, before they are written."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from turnetl.summaries.delta import NodeDelta
from turnetl.summaries.gate import Decision, GateState
from turnetl.summaries.reasons import GateReason
from turnetl.summaries.summary_input import SummaryInput


@dataclass(frozen=True, slots=True)
class SummaryPlan:
    """What a turn does with the summaries of the entities that it touches."""

    decisions: Mapping[str, Decision]
    """By uuid."""
    inputs: tuple[SummaryInput, ...]
    """Of those that are refreshed, sorted by uuid."""
    states: Mapping[str, GateState]
    """After the turn, by uuid."""
    deltas: Mapping[str, NodeDelta]
    """Of those that are refreshed, by uuid."""
    flushed: tuple[SummaryInput, ...] = ()
    """Of those that remain deferred, if the run ends with the turn; sorted by uuid."""


def outcome(plan: SummaryPlan, texts: Mapping[str, str]) -> Mapping[GateReason, int]:
    """Return how many summaries a turn refreshed and kept, by reason, sorted.

    Args:
        plan: of the turn.
        texts: the new summaries, also the flushed ones.
    """
    reasons = [
        GateReason.NO_TEXT if decision.refresh and uuid not in texts else decision.reason
        for uuid, decision in plan.decisions.items()
    ]
    reasons += [GateReason.FLUSHED for given in plan.flushed if given.entity.uuid in texts]
    return dict(sorted(Counter(reasons).items()))
