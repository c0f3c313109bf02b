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


def outcome(
    plan: SummaryPlan, texts: Mapping[str, str], *, is_flushed: bool = True
) -> Mapping[GateReason, int]:
    """Return how many summaries a turn refreshed and kept, by reason, sorted.

    Args:
        plan: of the turn.
        texts: the new summaries, also the flushed ones.
        is_flushed: whether all of `plan.flushed` were asked for; else those without a text do not
            count: they are asked for again when the run ends.
    """
    reasons = [
        GateReason.NO_TEXT if decision.refresh and uuid not in texts else decision.reason
        for uuid, decision in plan.decisions.items()
    ]
    flushes = (given.entity.uuid in texts for given in plan.flushed)
    reasons += [
        GateReason.FLUSHED if has_text else GateReason.FLUSH_NO_TEXT
        for has_text in flushes
        if has_text or is_flushed
    ]
    return dict(sorted(Counter(reasons).items()))
