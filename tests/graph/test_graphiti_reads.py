"""Graphiti's classes read what the stores wrote, and the stores read what Graphiti wrote."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import ladybug
import numpy as np
import pytest
from graphiti_core.driver.driver import GraphDriver, GraphProvider
from graphiti_core.driver.neo4j_driver import Neo4jDriver
from graphiti_core.edges import EntityEdge, EpisodicEdge, HasEpisodeEdge, NextEpisodeEdge
from graphiti_core.nodes import EntityNode, EpisodicNode, SagaNode
from graphiti_core.utils.bulk_utils import add_nodes_and_edges_bulk_tx
from pydantic import BaseModel

from tests import builders
from tests.builders import GROUP
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt, turn_id
from tests.ingestion.undo_runs import ingest_run
from turnetl.base import ids
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Change, Entity, Fact, Vector
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.ladybug.rows import as_utc
from turnetl.graph.mirror import convert
from turnetl.graph.open import open_graph
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.summaries.gate import GateLimits, GateState
from turnetl.summaries.records import EntityRecord, decode, replay
from turnetl.summaries.rule_summary import RuleSummariser


class LadybugDriver(GraphDriver):
    """The part of Graphiti's Kuzu driver that reads, and that runs its bulk writer."""

    provider = GraphProvider.KUZU
    _database = ""

    def __init__(self, path: str) -> None:
        self._database_file = ladybug.Database(path)
        self._connection = ladybug.Connection(self._database_file)

    async def execute_query(self, cypher_query_: str, **parameters: Any) -> Any:
        parameters.pop("routing_", None)
        result: Any = self._connection.execute(cypher_query_, parameters)
        return [_aware(row) for row in result.rows_as_dict()], None, None

    async def run(self, query: str, **parameters: Any) -> None:
        await self.execute_query(query, **parameters)

    async def close(self) -> None:
        self._connection.close()
        self._database_file.close()

    def session(self, database: str | None = None) -> Any:
        raise NotImplementedError

    def delete_all_indexes(self) -> Any:
        raise NotImplementedError

    async def build_indices_and_constraints(self, delete_existing: bool = False) -> None:
        raise NotImplementedError


async def graphiti(url: str) -> Any:
    parts = urlsplit(url)
    if parts.scheme == "ladybug":
        return LadybugDriver(str(Path(parts.path)))
    address = f"{parts.scheme}://{parts.hostname}:{parts.port}"
    # In a thread without a loop: the driver would start this in the background, twice in all.
    driver = await asyncio.to_thread(Neo4jDriver, address, parts.username, parts.password)
    await driver.build_indices_and_constraints()
    return driver


async def write(url: str, changes: list[Change]) -> None:
    store = await open_graph(url, user="", password="")
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="o", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    for change in changes:
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    await store.close()


@pytest.fixture
async def reader(graph_url: str) -> AsyncIterator[Any]:
    await write(graph_url, history())
    driver = await graphiti(graph_url)
    yield driver
    await driver.close()


def expected() -> tuple[dict[str, Entity], dict[str, Fact]]:
    entities = {entity.uuid: entity for change in history() for entity in change.entities}
    facts = {fact.uuid: fact for change in history() for fact in change.facts}
    return entities, facts


async def test_graphiti_reads_the_entities(reader: GraphDriver) -> None:
    entities, _ = expected()
    nodes = await EntityNode.get_by_uuids(reader, sorted(entities))
    read = {node.uuid: convert.from_node(node) for node in nodes}
    assert read == {uuid: replace(one, embedding=None) for uuid, one in entities.items()}
    for node in nodes:
        await node.load_name_embedding(reader)
        assert _bytes(node.name_embedding) == entities[node.uuid].embedding


async def test_graphiti_reads_the_facts(reader: GraphDriver) -> None:
    _, facts = expected()
    edges = await EntityEdge.get_by_uuids(reader, sorted(facts))
    read = {edge.uuid: convert.from_edge(edge) for edge in edges}
    assert read == {uuid: replace(one, embedding=None) for uuid, one in facts.items()}
    for edge in edges:
        await edge.load_fact_embedding(reader)
        assert _bytes(edge.fact_embedding) == facts[edge.uuid].embedding


async def test_graphiti_reads_the_episode_with_its_facts(reader: GraphDriver) -> None:
    third = history()[2]
    episode = await EpisodicNode.get_by_uuid(reader, third.episode.turn_id)
    assert episode.content == third.episode.text
    assert episode.source.value == "message"
    assert (episode.valid_at, episode.created_at) == (third.episode.turn.started_at, NOW)
    assert episode.entity_edges == [fact.uuid for fact in third.facts]


async def test_graphiti_reads_the_mentions(reader: GraphDriver) -> None:
    edges = await EpisodicEdge.get_by_group_ids(reader, [GROUP])
    mentions = {(edge.source_node_uuid, edge.target_node_uuid) for edge in edges}
    assert mentions == {
        (change.episode.turn_id, uuid) for change in history() for uuid in change.mentions
    }
    assert len(edges) == len(mentions)


async def test_graphiti_reads_the_session_as_a_saga_in_order(reader: GraphDriver) -> None:
    saga = await SagaNode.get_by_uuid(
        reader, ids.saga_id(GROUP, history()[0].episode.turn.session_id)
    )
    turns = [change.episode.turn_id for change in history()]
    assert (saga.name, saga.first_episode_uuid, saga.last_episode_uuid) == (
        "s1",
        turns[0],
        turns[-1],
    )
    has = await HasEpisodeEdge.get_by_group_ids(reader, [GROUP])
    assert {edge.target_node_uuid for edge in has} == set(turns)
    assert await _next(reader) == set(pairwise(turns))


async def test_graphiti_reads_nothing_of_the_summary_gate(graph_url: str, tmp_path: Path) -> None:
    contents = await _summarised(graph_url, tmp_path)
    states = {uuid: one.state for uuid, one in replay(contents.summaries.values()).items()}
    assert any(state.deferred for state in states.values())
    assert any(state.pending for state in states.values())
    refreshes = [one.refresh for text in contents.summaries.values() for one in decode(text)]
    recorded = [text for one in refreshes if one is not None for text in (one.facts, one.vector)]
    shown = {uuid: one.shown for uuid, one in replay(contents.summaries.values()).items()}
    driver = await graphiti(graph_url)
    entities = await EntityNode.get_by_group_ids(driver, [GROUP])
    assert {node.uuid for node in entities} >= states.keys()
    for node in entities:
        # The structural extractor gives its entities no attribute.
        assert node.attributes == {}
        assert {*node.labels} <= {"Entity", "Concept", "Decision", "File"}
        assert node.summary == shown.get(node.uuid, "")
    others: list[BaseModel] = []
    for kind in (EntityEdge, EpisodicNode, SagaNode):
        found = await kind.get_by_group_ids(driver, [GROUP])
        assert found
        others += found
    await driver.close()
    read = "\n".join(one.model_dump_json() for one in (*entities, *others))
    assert recorded
    assert [text for text in recorded if text is not None and text in read] == []
    names = GateState.__dataclass_fields__.keys() | EntityRecord.__annotations__.keys() - {"entity"}
    assert [name for name in names if f'"{name}"' in read] == []


async def test_a_turn_that_arrives_late_is_linked_between_its_neighbours(graph_url: str) -> None:
    first, second, third = history()
    late = replace(second, next_turn=third.episode.turn_id)
    ahead = replace(third, previous_turn=first.episode.turn_id)
    await write(graph_url, [first, ahead, late])
    driver = await graphiti(graph_url)
    turns = [turn_id(native) for native in ("p0", "p1", "p2")]
    assert await _next(driver) == set(pairwise(turns))
    saga = await SagaNode.get_by_uuid(driver, ids.saga_id(GROUP, first.episode.turn.session_id))
    assert (saga.first_episode_uuid, saga.last_episode_uuid) == (turns[0], turns[2])
    await driver.close()


async def test_what_graphitis_bulk_writer_wrote_is_loaded_unchanged(graph_url: str) -> None:
    store = await open_graph(graph_url, user="", password="")
    await store.prepare()
    await store.close()
    entities, facts = expected()
    await _write_as_graphiti(graph_url, list(entities.values()), list(facts.values()))
    store = await open_graph(graph_url, user="", password="")
    contents = await store.load(GROUP)
    await store.close()
    assert {entity.uuid: entity for entity in contents.entities} == entities
    assert {fact.uuid: fact for fact in contents.facts} == facts


@pytest.mark.neo4j
async def test_neo4j_holds_the_same_properties_that_graphiti_writes(neo4j_url: str) -> None:
    await write(neo4j_url, history())
    ours = await _properties(neo4j_url)
    entities, facts = expected()
    # The same uuids: Graphiti's writer replaces all properties.
    await _write_as_graphiti(neo4j_url, list(entities.values()), list(facts.values()))
    assert await _properties(neo4j_url) == ours


async def _summarised(url: str, lake: Path) -> GroupContents:
    """Return a group whose turns wrote, kept and deferred summaries, as turnetl reads it."""
    episodes = [
        builders.episode(
            f"p{number}",
            ordinal=number,
            started_at=builders.START + timedelta(minutes=5 * number),
            user_text=f"Show the total of shelf {number} in the cart.",
            tool_calls=(builders.tool("Edit", f"/home/dev/shop/src/cart.py :: + {number}", "ok"),),
        )
        for number in range(4)
    ]
    limits = GateLimits(min_similarity=1, burst_turns=3)
    rules = SummaryRules(RuleSummariser(), limits, flushes=False)
    store = await open_graph(url, user="", password="", write=True)
    await store.prepare()
    await ingest_run(store, episodes, lake, StructuralExtractor(), "run", summaries=rules)
    contents = await store.load(GROUP)
    await store.close()
    return contents


async def _write_as_graphiti(url: str, entities: list[Entity], facts: list[Fact]) -> None:
    nodes = [convert.to_node(entity) for entity in entities]
    edges = [convert.to_edge(fact) for fact in facts]
    for node, entity in zip(nodes, entities, strict=True):
        node.name_embedding = _floats(entity.embedding)
    for edge, fact in zip(edges, facts, strict=True):
        edge.fact_embedding = _floats(fact.embedding)
    driver = await graphiti(url)
    parts: tuple[Any, ...] = ([], [], nodes, edges, None, driver)
    if isinstance(driver, LadybugDriver):
        await add_nodes_and_edges_bulk_tx(driver, *parts)  # type: ignore[arg-type]
    else:
        async with driver.session() as session:
            await session.execute_write(add_nodes_and_edges_bulk_tx, *parts)
    await driver.close()


async def _properties(url: str) -> list[str]:
    driver = await graphiti(url)
    found: list[str] = []
    for query in (
        "MATCH (n:Entity) RETURN properties(n) AS p, labels(n) AS l ORDER BY n.uuid",
        "MATCH ()-[e:RELATES_TO]->() RETURN properties(e) AS p, [] AS l ORDER BY e.uuid",
    ):
        rows, _, _ = await driver.execute_query(query)
        for row in rows:
            properties = dict(row["p"])
            if "labels" in properties:
                properties["labels"] = sorted(properties["labels"])
            found.append(json.dumps([properties, sorted(row["l"])], default=str, sort_keys=True))
    await driver.close()
    return found


async def _next(driver: GraphDriver) -> set[tuple[str, str]]:
    edges = await NextEpisodeEdge.get_by_group_ids(driver, [GROUP])
    return {(edge.source_node_uuid, edge.target_node_uuid) for edge in edges}


def _aware(row: dict[str, Any]) -> dict[str, Any]:
    """Ladybug stores UTC and returns it without a zone."""
    return {
        name: as_utc(value) if isinstance(value, datetime) else value for name, value in row.items()
    }


def _floats(vector: Vector | None) -> list[float]:
    assert vector is not None
    values: list[float] = np.frombuffer(vector, dtype="<f4").tolist()
    return values


def _bytes(values: list[float] | None) -> bytes:
    return np.asarray(values, dtype="<f4").tobytes()
