"""Searches that are asked for in the same moment, made together.

Graphiti starts the searches for all entities or facts of a turn before it waits for one of them.
Together they read the vectors of the group once.
"""

import asyncio
from asyncio import Future
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from turnetl.graph.mirror.similarity import QueryVector

Found = TypeVar("Found")
SearchAll = Callable[[Sequence[QueryVector], int, float], Sequence[Found]]
"""Takes vectors, a limit and a minimum score; returns what it finds for each vector."""


class SearchBatch(Generic[Found]):
    """Collects searches until the event loop has run all that is ready, then makes them."""

    def __init__(self, search_all: SearchAll[Found]) -> None:
        self._search_all = search_all
        self._waiting: dict[tuple[int, float], list[tuple[QueryVector, Future[Found]]]] = {}

    async def search(self, vector: QueryVector, limit: int, min_score: float) -> Found:
        """Return what is found for the vector; raises what the search of its batch raises."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._search_waiting)
        found: Future[Found] = loop.create_future()
        self._waiting.setdefault((limit, min_score), []).append((vector, found))
        return await found

    def _search_waiting(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for (limit, min_score), searches in waiting.items():
            wanted = [(vector, future) for vector, future in searches if not future.done()]
            if wanted:
                self._search(wanted, limit, min_score)

    def _search(
        self, wanted: Sequence[tuple[QueryVector, Future[Found]]], limit: int, min_score: float
    ) -> None:
        try:
            results = self._search_all([vector for vector, _ in wanted], limit, min_score)
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            for _, future in wanted:
                future.set_exception(error)
            return
        for (_, future), found in zip(wanted, results, strict=True):
            future.set_result(found)
