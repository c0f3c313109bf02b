"""Settings to open things: filters, redactor, graph, model, embedder, extractor."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from turnetl.graph import open as graphs
from turnetl.graph.port import GraphStore
from turnetl.ingest.group import IngestResources
from turnetl.lake import Lake
from turnetl.llm.stack import ModelStack
from turnetl.settings import Settings
from turnetl.wiring import extraction, models
from turnetl.wiring.extraction import checked, extractor, reader, recipe, templates
from turnetl.wiring.filters import filters, groups, jobs, named, redactor, rule, rules
from turnetl.wiring.models import embedder, journal, model, shared

__all__ = [
    "check",
    "checked",
    "embedder",
    "extractor",
    "filters",
    "groups",
    "jobs",
    "journal",
    "model",
    "named",
    "reader",
    "recipe",
    "redactor",
    "rule",
    "rules",
    "shared",
    "store",
    "templates",
    "tools",
]


def check(settings: Settings, once: str | None = None) -> None:
    """See that graph, model and filters are named as they must be, before any work is done.

    Args:
        settings: with what is said for this run.
        once: what was said of preprocessing for this run alone.

    Raises:
        BadUsage: they are not; says what is missing or wrong.
    """
    graphs.check(settings.graph_url)
    extraction.check(settings, once)
    filters(settings)
    if models.is_asked(settings):
        models.check(settings)


@asynccontextmanager
async def tools(settings: Settings, around: ModelStack) -> AsyncIterator[IngestResources]:
    """Open what an ingest needs, the graph for writing, and close it afterwards.

    Args:
        settings: which graph, embedder, extractor and model.
        around: what stands around the model's calls: `shared`, for the whole process.
    """
    counted = embedder(settings, meter=around.meter)
    async with counted as used, store(settings, write=True) as graph:
        extracts = extractor(settings, used, around)
        try:
            await graph.prepare()
            yield IngestResources(Lake(settings.lake), graph, extracts, used)
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
