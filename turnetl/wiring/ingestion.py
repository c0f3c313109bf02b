"""Everything that an ingest needs, checked and opened together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from turnetl.graph import open as graphs
from turnetl.ingestion.group import IngestResources
from turnetl.lake import Lake
from turnetl.llm.stack import ModelStack
from turnetl.settings import Settings
from turnetl.wiring import clients, extraction, noise_filters
from turnetl.wiring.embedding import embedder
from turnetl.wiring.graph import store


def check(settings: Settings, run_preprocessing: str | None = None) -> None:
    """Check that graph, model, templates and filters are fully configured, before any work.

    Args:
        settings: the settings of this run.
        run_preprocessing: the preprocessing instructions given for this run only, if any.

    Raises:
        BadUsage: something is missing or not valid; names it.
    """
    graphs.check_url(settings.graph_url)
    extraction.check(settings, run_preprocessing)
    noise_filters.filters(settings)
    clients.check(settings)


@asynccontextmanager
async def ingest_resources(settings: Settings, stack: ModelStack) -> AsyncIterator[IngestResources]:
    """Open the resources of an ingest, the graph for writing, and close it afterwards.

    Args:
        settings: graph, embedder, extractor and model.
        stack: the `model_stack` of this process.
    """
    metered = embedder(settings, meter=stack.meter)
    async with metered as vectors, store(settings, write=True) as graph:
        extracts = extraction.extractor(settings, vectors, stack)
        try:
            await graph.prepare()
            yield IngestResources(Lake(settings.lake), graph, extracts, vectors)
        finally:
            await extracts.close()
