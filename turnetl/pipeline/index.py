"""The search index of a graph: bring it up to date, or make it anew."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from turnetl import wiring
from turnetl.clock import Clock
from turnetl.errors import Retryable
from turnetl.graph.port import GraphStore
from turnetl.index.persistent import PersistentIndex
from turnetl.index.port import CatchUpReport, IndexStatus
from turnetl.llm.embedders.port import Embedder
from turnetl.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.settings import Settings

log = logging.getLogger(__name__)

_STAGE = "index"


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An open index with the embedder of its queries."""

    index: PersistentIndex
    embedder: Embedder
    is_current: bool = True
    """Whether it holds everything that is in the graph."""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a catch-up did, and the index afterwards."""

    changes: CatchUpReport
    status: IndexStatus


async def update_index(
    settings: Settings,
    clock: Clock,
    *,
    rebuild: bool = False,
    progress: Progress = ignore_progress,
) -> IndexReport:
    """Bring the index up to date with the graph.

    Args:
        settings: the graph, the lake that holds the index, and the embedder.
        clock: returns the current time.
        rebuild: delete the index first.
        progress: called after each group.

    Raises:
        IndexBusy: another process does so at the moment.
        IndexUnusable: the index is of another version or embedder, or cannot be written.
        GraphBusy: the graph did not respond, or another process writes it.
        GraphUnusable: the graph cannot be opened.
    """
    if rebuild:
        wiring.delete_search_index(settings)
    async with wiring.embedder(settings) as embedder, wiring.store(settings, write=False) as store:
        return await index_graph(store, embedder, settings, clock, progress=progress)


async def index_graph(
    store: GraphStore,
    embedder: Embedder,
    settings: Settings,
    clock: Clock,
    *,
    progress: Progress = ignore_progress,
) -> IndexReport:
    """Bring the index up to date with an open graph; raises what `update_index` does."""
    with wiring.search_index(settings, embedder) as index:
        changes = await _catch_up(OpenIndex(index, embedder), store, settings, clock, progress)
        return IndexReport(changes, index.status())


@asynccontextmanager
async def current_index(
    settings: Settings, clock: Clock, progress: Progress = ignore_progress
) -> AsyncIterator[OpenIndex]:
    """Open the index, after reading from the graph what it lacks.

    If another process writes graph or index at the moment, the index is used as it is.

    Raises:
        IndexUnusable: the index is of another version or embedder, or cannot be written.
        GraphUnusable: the graph cannot be opened.
    """
    async with wiring.embedder(settings) as embedder:
        with wiring.search_index(settings, embedder) as index:
            opened = OpenIndex(index, embedder)
            state = wiring.graph_state(settings)
            if state is None or state != index.graph_state:
                try:
                    async with wiring.store(settings, write=False) as store:
                        await _catch_up(opened, store, settings, clock, progress)
                except Retryable as error:
                    log.info("the index was not brought up to date", exc_info=error)
                    opened = replace(opened, is_current=False)
            yield opened


async def _catch_up(
    opened: OpenIndex,
    store: GraphStore,
    settings: Settings,
    clock: Clock,
    progress: Progress,
) -> CatchUpReport:
    state = wiring.graph_state(settings)
    changes = await opened.index.catch_up(
        store, opened.embedder, now=clock(), on_progress=_reporter(progress)
    )
    # The state before: what is written meanwhile is read the next time.
    opened.index.mark(state)
    return changes


def _reporter(progress: Progress) -> Callable[[int, int], None]:
    return lambda done, total: progress(ProgressUpdate(_STAGE, "turns", done, total))
