"""Graphiti's own seams, answered from the group in memory: no read reaches a database.

Graphiti's building blocks look for candidates through `driver.search_interface` and read nodes
through `driver.graph_operations_interface`. Both are answered here with copies, because Graphiti
changes candidates in place. What these seams do not answer falls through to the driver, which
raises and remembers: some of Graphiti's reads swallow every exception.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from graphiti_core.driver.driver import GraphDriver, GraphDriverSession, GraphProvider
from graphiti_core.driver.graph_operations.graph_operations import GraphOperationsInterface
from graphiti_core.driver.search_interface.search_interface import SearchInterface
from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode
from graphiti_core.search.search_filters import SearchFilters
from pydantic import ConfigDict, PrivateAttr
from typing_extensions import override

from turnetl.graph.mirror import convert
from turnetl.graph.mirror.candidates import Candidates
from turnetl.graph.mirror.group import Things
from turnetl.model import Entity, Fact, Vector

_MOST_WORDS = 128
"""Graphiti gives Lucene no query of so many words, and returns nothing."""
_PAIR = 2

Seen = Callable[[str, Vector], None]


class LeakedRead(RuntimeError):
    """Graphiti asked the database for something that the group in memory should have answered."""


class MirrorDriver(GraphDriver):
    """Stands where Graphiti would read: answers from the group, refuses every query."""

    provider = GraphProvider.NEO4J
    _database = ""

    def __init__(self) -> None:
        """Answer nothing."""
        self.leaks: list[str] = []
        """Queries that were refused."""

    @classmethod
    def of(cls, group: Things, candidates: Candidates, seen: Seen) -> "MirrorDriver":
        """Answer from the group; tell `seen` the text and vector of each candidate handed out.

        `candidates` are the group's; they are brought up to date here.
        """
        candidates.refresh()
        driver = cls()
        driver.search_interface = MirrorSearch(candidates, seen)
        # It holds the group, which its candidates do not.
        driver.graph_operations_interface = MirrorReads(group)
        return driver

    def check(self) -> None:
        """Raise if anything was refused, also where Graphiti went on without an answer."""
        if self.leaks:
            raise LeakedRead(f"Graphiti asked the database: {self.leaks[0]}")

    @override
    def execute_query(self, cypher_query_: str, **_: Any) -> NoReturn:
        self._refuse(" ".join(cypher_query_.split())[:200])

    @override
    def session(self, database: str | None = None) -> GraphDriverSession:
        self._refuse(f"a session on {database or 'the default database'}")

    @override
    def close(self) -> NoReturn:
        self._refuse("to be closed")

    @override
    def delete_all_indexes(self) -> NoReturn:
        self._refuse("to delete indexes")

    @override
    async def build_indices_and_constraints(self, delete_existing: bool = False) -> None:
        self._refuse(f"to build indexes, deleting existing ones: {delete_existing}")

    def _refuse(self, what: str) -> NoReturn:
        self.leaks.append(what)
        raise LeakedRead(f"Graphiti asked the database: {what}")


class MirrorSearch(SearchInterface):
    """Candidate searches. Of Graphiti's filters only the one by both endpoints is answered."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    _candidates: Candidates = PrivateAttr()
    _seen: Seen = PrivateAttr()

    def __init__(self, candidates: Candidates, seen: Seen) -> None:
        super().__init__()
        self._candidates = candidates
        self._seen = seen

    @override
    async def edge_fulltext_search(
        self,
        driver: Any,
        query: str,
        search_filter: SearchFilters,
        group_ids: list[str] | None = None,
        limit: int = 100,
    ) -> list[EntityEdge]:
        """Take the best of the group and *then* keep the pair's: so does the full-text index."""
        _only(self._candidates.group, group_ids)
        pair = _pair(search_filter)
        if len(query.split(" ")) + len(group_ids or ()) >= _MOST_WORDS:
            return []
        found = self._candidates.facts_about(query, limit)
        return self._edges(f for f in found if pair is None or {f.source, f.target} <= pair)

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
        """Keep the pair's facts first and then take the nearest."""
        _only(self._candidates.group, group_ids)
        if source_node_uuid is not None or target_node_uuid is not None:
            raise NotImplementedError("a search for facts by one endpoint")
        pair = _pair(search_filter)
        if pair is None:
            return self._edges(self._candidates.facts_near(search_vector, limit, min_score))
        among = self._candidates.facts_near_among(pair, search_vector, limit, min_score)
        return self._edges(among)

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
        _only(self._candidates.group, group_ids)
        _nothing_but(search_filter, ())
        return self._nodes(self._candidates.entities_near(search_vector, limit, min_score))

    def _edges(self, facts: Iterable[Fact]) -> list[EntityEdge]:
        kept = list(facts)
        for fact in kept:
            if fact.embedding is not None:
                self._seen(fact.text, fact.embedding)
        return [convert.edge(fact) for fact in kept]

    def _nodes(self, entities: Sequence[Entity]) -> list[EntityNode]:
        for entity in entities:
            if entity.embedding is not None:
                self._seen(entity.name, entity.embedding)
        return [convert.node(entity) for entity in entities]


class MirrorReads(GraphOperationsInterface):
    """Reads of entities by uuid and by exact name."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    _group: Things = PrivateAttr()

    def __init__(self, group: Things) -> None:
        super().__init__()
        self._group = group

    @override
    async def node_get_by_uuids(
        self,
        _cls: Any,
        driver: Any,
        uuids: list[str],
        group_id: str | None = None,
    ) -> list[EntityNode]:
        _only(self._group, [group_id] if group_id is not None else None)
        found = (self._group.entity(uuid) for uuid in sorted(set(uuids)))
        return [convert.node(entity) for entity in found if entity is not None]

    @override
    async def node_get_by_names(
        self,
        _cls: Any,
        driver: Any,
        names: list[str],
        group_ids: list[str],
    ) -> list[EntityNode]:
        """Return the entities of exactly these names, capitals and all, in order of creation."""
        _only(self._group, group_ids)
        return [convert.node(entity) for entity in self._group.called(names)]


def _only(group: Things, group_ids: Sequence[str] | None) -> None:
    """Refuse a search that goes beyond the group."""
    if group_ids is None or set(group_ids) != {group.group_id}:
        raise NotImplementedError(f"a search in {group_ids}, not in {group.group_id} alone")


def _pair(search_filter: SearchFilters) -> frozenset[str] | None:
    """Return the endpoints that the filter names, or None: Graphiti names both on both sides."""
    given = _nothing_but(search_filter, ("edge_source_node_uuids", "edge_target_node_uuids"))
    if not given:
        return None
    pair = frozenset(given.get("edge_source_node_uuids", ()))
    if pair != frozenset(given.get("edge_target_node_uuids", ())) or not 1 <= len(pair) <= _PAIR:
        raise NotImplementedError("a search for facts by other than a pair of endpoints")
    return pair


def _nothing_but(search_filter: SearchFilters, known: Sequence[str]) -> Mapping[str, Any]:
    given = {name: value for name, value in search_filter if value is not None}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise NotImplementedError(f"a search filtered by {', '.join(unknown)}")
    return given
