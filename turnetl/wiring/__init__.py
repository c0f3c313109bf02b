"""The composition root: settings to grouping, redactor, filters, graph, model, embedder, extractor.

Every function reads the settings and opens or creates one thing; nothing is cached between calls.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from turnetl.graph import open as graphs
from turnetl.graph.port import GraphStore
from turnetl.ingestion.group import IngestResources
from turnetl.lake import Lake
from turnetl.llm.stack import ModelStack
from turnetl.settings import Settings
from turnetl.wiring import clients, extraction
from turnetl.wiring.clients import embedder, is_remote, journal, model, model_stack, prices
from turnetl.wiring.extraction import check_model, extractor, model_extractor, recipe, templates
from turnetl.wiring.filters import (
    archive_grouping,
    filters,
    format_named,
    jobs,
    noise_rule,
    noise_rules,
    redactor,
)
from turnetl.wiring.index import (
    delete_search_index,
    graph_state,
    index_snapshot,
    missing_graph,
    search_index,
)

__all__ = [
    "archive_grouping",
    "check",
    "check_model",
    "delete_search_index",
    "embedder",
    "extractor",
    "filters",
    "format_named",
    "graph_state",
    "index_snapshot",
    "ingest_resources",
    "is_remote",
    "jobs",
    "journal",
    "missing_graph",
    "model",
    "model_extractor",
    "model_stack",
    "noise_rule",
    "noise_rules",
    "prices",
    "recipe",
    "redactor",
    "search_index",
    "store",
    "templates",
]


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
    filters(settings)
    if clients.uses_model(settings):
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
        extracts = extractor(settings, vectors, stack)
        try:
            await graph.prepare()
            yield IngestResources(Lake(settings.lake), graph, extracts, vectors)
        finally:
            await extracts.close()


@asynccontextmanager
async def store(settings: Settings, *, write: bool) -> AsyncIterator[GraphStore]:
    """Open the graph, and close it afterwards."""
    password = settings.graph_password
    graph = await graphs.open_graph(
        settings.graph_url,
        user=settings.graph_user,
        password=password.get_secret_value() if password else "",
        write=write,
    )
    try:
        yield graph
    finally:
        await graph.close()
