"""How summaries of entities are decided and written, as the settings say."""

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from turnetl.settings import Settings

if TYPE_CHECKING:  # a run without new turns does without these
    from turnetl.ingestion.turn_summaries import SummaryRules
    from turnetl.llm.chat import ChatModel
    from turnetl.llm.prices import Price
    from turnetl.summaries.port import Summariser


def summary_rules(settings: Settings, model: "ChatModel | None") -> "SummaryRules":
    """Return how a run summarises entities.

    Args:
        settings: the limits of the gate, and whether the end of a run flushes.
        model: that of the run, with its stack; None: rules write the summaries.
    """
    return replace(flush_rules(settings, model), flushes=settings.summaries.flush)


def flush_rules(
    settings: Settings, model: "ChatModel | None", price: "Price | None" = None
) -> "SummaryRules":
    """Return how summaries that are deferred are written, whatever the setting `flush` is.

    Args:
        settings: the limits of the gate.
        model: with its stack; None: rules write the summaries.
        price: of the model, for estimates; None if it is unknown.
    """
    from turnetl.ingestion.turn_summaries import SummaryRules
    from turnetl.summaries.gate import GateLimits

    given = settings.summaries
    limits = GateLimits(
        min_similarity=given.min_similarity,
        burst_turns=given.burst_turns,
        burst_window=timedelta(minutes=given.burst_minutes),
        burst_cap=given.burst_cap,
        max_age=timedelta(days=given.max_age_days),
    )
    return SummaryRules(_summariser(model, price), limits)


def _summariser(model: "ChatModel | None", price: "Price | None") -> "Summariser":
    if model is None:
        from turnetl.summaries.rule_summary import RuleSummariser

        return RuleSummariser()
    from turnetl.summaries.model_summariser import ModelSummariser

    return ModelSummariser(model, price)
