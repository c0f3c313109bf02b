"""Everything that an ingest needs, checked and opened together, and how it writes summaries."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from turnetl.graph import open as graphs
from turnetl.settings import Settings
from turnetl.settings.credentials import check_password_encrypted
from turnetl.wiring import extraction, noise_filters
from turnetl.wiring.graph import store
from turnetl.wiring.tables import lake

if TYPE_CHECKING:  # a run without new turns does without these
    from turnetl.ingestion.group import IngestResources
    from turnetl.ingestion.turn_summaries import SummaryRules
    from turnetl.llm.ahead import AheadModel
    from turnetl.llm.chat import ChatModel
    from turnetl.llm.prices import Price
    from turnetl.llm.stack import ModelStack
    from turnetl.summaries.port import Summariser


def check(settings: Settings, run_preprocessing: str | None = None) -> None:
    """Check that graph, model, templates and filters are fully configured, before any work.

    Raises:
        BadUsage: something is missing or not valid; names it.
    """
    graphs.check_url(settings.graph_url)
    check_password_encrypted(settings)
    extraction.check(settings, run_preprocessing)
    noise_filters.filters(settings)
    if settings.uses_model:
        from turnetl.wiring import clients

        clients.check(settings)
    else:
        extraction.check_no_model(settings)


@asynccontextmanager
async def ingest_resources(
    settings: Settings, stack: "ModelStack"
) -> "AsyncIterator[IngestResources]":
    from turnetl.ingestion.admission import TurnAdmission
    from turnetl.ingestion.group import IngestResources
    from turnetl.ingestion.merged_entities import MergingExtractor, read_merged
    from turnetl.wiring import clients
    from turnetl.wiring.embedding import embedder

    metered = embedder(settings, meter=stack.meter)
    async with metered as vectors, store(settings, write=True) as graph:
        model = clients.model(settings, stack) if settings.uses_model else None
        ahead = _ahead(model, stack) if model is not None and settings.run_ahead else None
        extracts = extraction.extractor(settings, vectors, ahead or model)
        if merges := read_merged(lake(settings).files).merges:
            extracts = MergingExtractor(extracts, merges)
        try:
            await graph.prepare()
            admission = TurnAdmission(stack.budget, prepares=stack.journal is not None)
            yield IngestResources(
                lake(settings),
                graph,
                extracts,
                vectors,
                admission,
                replace(flush_rules(settings, ahead or model), flushes=settings.summaries.flush),
                ahead,
            )
        finally:
            await extracts.close()


def _ahead(model: "ChatModel", stack: "ModelStack") -> "AheadModel":
    from turnetl.extraction.llm.guesses import ResolutionGuesses
    from turnetl.llm.ahead import AheadModel

    return AheadModel(model, ResolutionGuesses(), is_sent=stack.limiter.has_sent)


def flush_rules(
    settings: Settings, model: "ChatModel | None", price: "Price | None" = None
) -> "SummaryRules":
    """Return how deferred summaries are written, whatever `flush` is; without a model by rules."""
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
