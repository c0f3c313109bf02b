"""Everything that an ingest needs, checked and opened together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from turnetl.graph import open as graphs
from turnetl.settings import Settings
from turnetl.settings.credentials import check_password_encrypted
from turnetl.wiring import extraction, noise_filters
from turnetl.wiring.graph import store
from turnetl.wiring.tables import lake

if TYPE_CHECKING:  # a run without new turns does without these
    from turnetl.ingestion.group import IngestResources
    from turnetl.llm.ahead import AheadModel
    from turnetl.llm.chat import ChatModel
    from turnetl.llm.stack import ModelStack


def check(settings: Settings, run_preprocessing: str | None = None) -> None:
    """Check that graph, model, templates and filters are fully configured, before any work.

    Args:
        settings: the settings of this run.
        run_preprocessing: the preprocessing instructions given for this run only, if any.

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
    """Open the resources of an ingest, the graph for writing, and close it afterwards.

    Args:
        settings: graph, embedder, extractor and model.
        stack: the `model_stack` of this process.
    """
    from turnetl.ingestion.admission import TurnAdmission
    from turnetl.ingestion.group import IngestResources
    from turnetl.wiring import clients, summaries
    from turnetl.wiring.embedding import embedder

    metered = embedder(settings, meter=stack.meter)
    async with metered as vectors, store(settings, write=True) as graph:
        model = clients.model(settings, stack) if settings.uses_model else None
        ahead = _ahead(model, stack) if model is not None and settings.run_ahead else None
        extracts = extraction.extractor(settings, vectors, ahead or model)
        try:
            await graph.prepare()
            admission = TurnAdmission(stack.budget, prepares=stack.journal is not None)
            yield IngestResources(
                lake(settings),
                graph,
                extracts,
                vectors,
                admission,
                summaries.summary_rules(settings, ahead or model),
                ahead,
            )
        finally:
            await extracts.close()


def _ahead(model: "ChatModel", stack: "ModelStack") -> "AheadModel":
    """Return the model of a run whose turns are resolved ahead."""
    from turnetl.extraction.llm.guesses import ResolutionGuesses
    from turnetl.llm.ahead import AheadModel

    return AheadModel(model, ResolutionGuesses(), is_sent=stack.limiter.has_sent)
