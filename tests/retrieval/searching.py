"""Search loaded groups with an index made for the purpose."""

import tempfile
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from tests.fakes.followed_graphs import LoadedGraph
from turnetl.base.graph_model import GroupContents
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import Embedder
from turnetl.retrieval.hits import SearchHit
from turnetl.retrieval.search import search

NOW = datetime(2026, 6, 1, tzinfo=UTC)


async def search_groups(
    groups: Iterable[GroupContents],
    query: str,
    embedder: Embedder,
    *,
    selection: Selection = Selection(),  # noqa: B008 - a frozen value
    limit: int = 10,
    model: ChatModel | None = None,
) -> list[SearchHit]:
    """Return the hits of a search over these groups, even if none is close to the query."""
    with tempfile.TemporaryDirectory() as folder:
        opened = PersistentIndex(Path(folder), embedder.name, embedder.dimensions)
        with closing(opened) as index:
            await index.catch_up(LoadedGraph(*groups), embedder, now=NOW)
            found = await search(
                index, query, embedder, selection=selection, limit=limit, nearest=True, model=model
            )
    return list(found.hits)
