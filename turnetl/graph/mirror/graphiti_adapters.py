"""Adapters for Graphiti's interfaces, served from the group in memory: no read from a database.

Graphiti's building blocks search candidates through `driver.search_interface` and read nodes
through `driver.graph_operations_interface`. Both return copies here, because Graphiti changes
candidates in place. Every other query reaches the driver, which raises and records it: some of
Graphiti's reads suppress every exception.
"""

import asyncio
from asyncio import Future
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NoReturn, TypeVar

from graphiti_core.driver.driver import GraphDriver, GraphDriverSession, GraphProvider
from graphiti_core.driver.graph_operations.graph_operations import GraphOperationsInterface
from graphiti_core.driver.search_interface.search_interface import SearchInterface
from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode
from graphiti_core.search.search_filters import SearchFilters
from graphiti_core.search.search_utils import MAX_QUERY_LENGTH
from pydantic import PrivateAttr
from typing_extensions import override

from turnetl.base.model import Entity, Fact, Vector
from turnetl.graph.mirror import convert
from turnetl.graph.mirror.group import GroupView
from turnetl.graph.mirror.overlay import CandidateIndex
from turnetl.graph.mirror.similarity import QueryVector

Found = TypeVar("Found")
SearchAll = Callable[[Sequence[QueryVector], int, float], Sequence[Found]]
"""Takes vectors, a limit and a minimum score; returns what it finds for each vector."""


class SearchBatch(Generic[Found]):
    """Collects searches until the event loop has run all that is ready, then makes them.

    Graphiti starts the searches for all entities or facts of a turn before it waits for one of
    them. Together they read the vectors of the group once.
    """

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


_PAIR = 2

CandidateCallback = Callable[[str, Vector], None]
"""Called with the text and the vector of each candidate that is returned to Graphiti."""


class LeakedRead(RuntimeError):
    """Graphiti queried the database for something that must be read from the group in memory."""


class MirrorDriver(GraphDriver):
    """Graphiti's driver: serves the group in memory and rejects every query."""

    provider = GraphProvider.NEO4J
    _database = ""

    def __init__(self) -> None:
        self.leaks: list[str] = []
        """Queries that were rejected."""

    @classmethod
    def for_group(
        cls, group: GroupView, candidates: CandidateIndex, on_candidate: CandidateCallback
    ) -> "MirrorDriver":
        """Create a driver that serves the group; the index of its candidates is refreshed."""
        candidates.refresh()
        driver = cls()
        driver.search_interface = MirrorSearch(candidates, on_candidate)
        # It keeps the group in memory; the candidates refer to it weakly.
        driver.graph_operations_interface = MirrorReads(group)
        return driver

    def release(self) -> None:
        """Serve the group no longer: what still refers to the driver does not keep the group."""
        self.search_interface = self.graph_operations_interface = None

    def check(self) -> None:
        """Raise if a query was rejected, also where Graphiti continued without a result."""
        if self.leaks:
            raise LeakedRead(f"Graphiti queried the database: {self.leaks[0]}")

    @override
    def execute_query(self, cypher_query_: str, **_: Any) -> NoReturn:
        self._reject(" ".join(cypher_query_.split())[:200])

    @override
    def session(self, database: str | None = None) -> GraphDriverSession:
        self._reject(f"a session on {database or 'the default database'}")

    @override
    def close(self) -> NoReturn:
        self._reject("closing the driver")

    @override
    def delete_all_indexes(self) -> NoReturn:
        self._reject("deleting indexes")

    @override
    async def build_indices_and_constraints(self, delete_existing: bool = False) -> None:
        self._reject(f"building indexes, with delete_existing={delete_existing}")

    def _reject(self, query: str) -> NoReturn:
        self.leaks.append(query)
        raise LeakedRead(f"Graphiti queried the database: {query}")


class MirrorSearch(SearchInterface):
    """Candidate searches. Of Graphiti's filters only the one by both endpoints is supported."""

    _candidates: CandidateIndex = PrivateAttr()
    _entities_near: SearchBatch[list[Entity]] = PrivateAttr()
    _facts_near: SearchBatch[list[Fact]] = PrivateAttr()
    _on_candidate: CandidateCallback = PrivateAttr()

    def __init__(self, candidates: CandidateIndex, on_candidate: CandidateCallback) -> None:
        super().__init__()
        self._candidates = candidates
        self._entities_near = SearchBatch(candidates.entities_near)
        self._facts_near = SearchBatch(candidates.facts_near)
        self._on_candidate = on_candidate

    @override
    async def edge_fulltext_search(
        self,
        driver: Any,
        query: str,
        search_filter: SearchFilters,
        group_ids: list[str] | None = None,
        limit: int = 100,
    ) -> list[EntityEdge]:
        """Take the best facts of the group, *then* filter by pair, as the full-text index does."""
        candidates = self._candidates
        _require_group(candidates.group, group_ids)
        pair = _pair(search_filter)
        if is_too_long(query, group_ids):
            return []
        return self._edges(candidates.facts_matching(query, limit, pair))

    @override
    async def edge_similarity_search(
        self,
        driver: Any,
        search_vector: list[float],
        source_node_uuid: str | None,
        target_node_uuid: str | None,
        search_filter: SearchFilters,
        group_ids: list[str] | None = None,
        limit: int = 100,
        min_score: float = 0.7,
    ) -> list[EntityEdge]:
        """Filter by pair first, then take the nearest facts."""
        _require_group(self._candidates.group, group_ids)
        if source_node_uuid is not None or target_node_uuid is not None:
            raise NotImplementedError("a search for facts by one endpoint")
        pair = _pair(search_filter)
        if pair is None:
            return self._edges(await self._facts_near.search(search_vector, limit, min_score))
        near = self._candidates.facts_near_between(pair, search_vector, limit, min_score)
        return self._edges(near)

    @override
    async def node_similarity_search(
        self,
        driver: Any,
        search_vector: list[float],
        search_filter: SearchFilters,
        group_ids: list[str] | None = None,
        limit: int = 100,
        min_score: float = 0.7,
    ) -> list[EntityNode]:
        _require_group(self._candidates.group, group_ids)
        require_filters(search_filter, ())
        return self._nodes(await self._entities_near.search(search_vector, limit, min_score))

    def _edges(self, facts: Sequence[Fact]) -> list[EntityEdge]:
        # Pydantic takes a microsecond for each access to a private attribute.
        on_candidate = self._on_candidate
        for fact in facts:
            if fact.embedding is not None:
                on_candidate(fact.text, fact.embedding)
        return [convert.to_edge(fact) for fact in facts]

    def _nodes(self, entities: Sequence[Entity]) -> list[EntityNode]:
        on_candidate = self._on_candidate
        for entity in entities:
            if entity.embedding is not None:
                on_candidate(entity.name, entity.embedding)
        return [convert.to_node(entity) for entity in entities]


class MirrorReads(GraphOperationsInterface):
    """Reads of entities by uuid and by exact name."""

    _group: GroupView = PrivateAttr()

    def __init__(self, group: GroupView) -> None:
        super().__init__()
        self._group = group

    @override
    async def node_get_by_uuids(
        self, _cls: Any, driver: Any, uuids: list[str], group_id: str | None = None
    ) -> list[EntityNode]:
        _require_group(self._group, [group_id] if group_id is not None else None)
        entities = map(self._group.entity, sorted(set(uuids)))
        return [convert.to_node(entity) for entity in entities if entity is not None]

    @override
    async def node_get_by_names(
        self, _cls: Any, driver: Any, names: list[str], group_ids: list[str]
    ) -> list[EntityNode]:
        """Return the entities with exactly these names, case-sensitive, in order of creation."""
        _require_group(self._group, group_ids)
        return [convert.to_node(entity) for entity in self._group.entities_named(names)]


def _require_group(group: GroupView, group_ids: Sequence[str] | None) -> None:
    """Reject a search in any other group."""
    if group_ids is None or set(group_ids) != {group.group_id}:
        raise NotImplementedError(f"a search in {group_ids}, not in {group.group_id} alone")


def _pair(search_filter: SearchFilters) -> frozenset[str] | None:
    """Return the endpoints in the filter, or None. Graphiti lists both as source and target."""
    filters = require_filters(search_filter, ("edge_source_node_uuids", "edge_target_node_uuids"))
    if not filters:
        return None
    pair = frozenset(filters.get("edge_source_node_uuids", ()))
    if pair != frozenset(filters.get("edge_target_node_uuids", ())) or not 1 <= len(pair) <= _PAIR:
        raise NotImplementedError("a search for facts by anything but a pair of endpoints")
    return pair


def is_too_long(query: str, group_ids: Sequence[str] | None) -> bool:
    """Return whether Graphiti would send Lucene no query, and return nothing."""
    return len(query.split(" ")) + len(group_ids or ()) >= MAX_QUERY_LENGTH


def require_filters(search_filter: SearchFilters, supported: Sequence[str]) -> Mapping[str, Any]:
    """Return the filters that are set; NotImplementedError names those that are not supported."""
    filters = {name: value for name, value in vars(search_filter).items() if value is not None}
    unsupported = sorted(set(filters) - set(supported))
    if unsupported:
        raise NotImplementedError(f"a search filtered by {', '.join(unsupported)}")
    return filters
