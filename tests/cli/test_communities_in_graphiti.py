"""Graphiti finds the communities that `turnetl communities build` built, and may replace them."""

import asyncio
import logging
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from graphiti_core import Graphiti
from graphiti_core.nodes import CommunityNode, EntityNode
from graphiti_core.search.search_config_recipes import (
    COMBINED_HYBRID_SEARCH_RRF,
    COMMUNITY_HYBRID_SEARCH_RRF,
)
from graphiti_core.search.search_utils import community_fulltext_search, community_similarity_search
from graphiti_core.utils.maintenance.community_operations import (
    Neighbor,
    build_community,
    label_propagation,
    remove_communities,
)

from tests.cli.command import SAMPLES, run_in_process
from tests.extraction.canned_model import CannedModel, request_text
from tests.graph.test_graphiti_reads import graphiti as graphiti_driver
from tests.servers.neo4j_server import Neo4jServer
from turnetl import wiring
from turnetl.base.graph_model import Community, GroupContents
from turnetl.base.model import GroupId
from turnetl.graph.open import open_graph
from turnetl.llm.chat import ChatRequest
from turnetl.llm.graphiti import GraphitiEmbedder, GraphitiModel, NoReranker
from turnetl.settings import Settings
from turnetl.summaries.communities import entity_network, propagate_labels

GROUP = GroupId("bookshop")
MAX_ROUNDS = 2_000
"""Of a propagation that never settles; others need fewer than ten."""


@pytest.fixture(scope="module")
def embedded(filled_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of an embedded graph of the samples with communities; it is only read."""
    folder = tmp_path_factory.mktemp("embedded")
    shutil.copytree(filled_samples, folder, dirs_exist_ok=True)
    url = f"ladybug://{folder / '.turnetl' / 'lake' / 'graph.lbug'}"
    build(folder, url)
    return url


@pytest.fixture
def served(neo4j: Neo4jServer, tmp_path: Path) -> str:
    """Return the URL of a Neo4j with the samples and communities."""
    run = run_in_process("backfill", SAMPLES, "--graph", neo4j.url, folder=tmp_path)
    assert run.exit_code == 0
    build(tmp_path, neo4j.url)
    return neo4j.url


def build(folder: Path, graph: str) -> None:
    assert run_in_process("communities", "build", "--graph", graph, folder=folder).exit_code == 0


def stored(graph: str) -> tuple[Sequence[Community], GroupContents]:
    async def read() -> tuple[Sequence[Community], GroupContents]:
        store = await open_graph(graph, user="", password="")
        found = await store.communities(GROUP), await store.load(GROUP)
        await store.close()
        return found

    return asyncio.run(read())


def described(request: ChatRequest) -> dict[str, str]:
    """Answer the two prompts with which Graphiti describes a community."""
    text = f"about {len(request_text(request))} characters"
    return {"summary": text, "description": text}


@asynccontextmanager
async def opened(server: Neo4jServer) -> AsyncIterator[Graphiti]:
    """Open a Graphiti with the embedder of the graph."""
    async with wiring.embedder(Settings()) as embedder:
        graphiti = Graphiti(
            server.address,
            server.user,
            server.password,
            llm_client=GraphitiModel(CannedModel(described)),
            embedder=GraphitiEmbedder(embedder),
            cross_encoder=NoReranker(),
        )
        await graphiti.build_indices_and_constraints()
        server.run("CALL db.awaitIndexes(300)")
        yield graphiti
        await graphiti.close()  # type: ignore[no-untyped-call]  # Graphiti does not annotate it


@pytest.mark.neo4j
def test_graphitis_recipes_find_every_community_by_its_name(
    served: str, neo4j: Neo4jServer
) -> None:
    communities, _ = stored(served)

    async def found() -> dict[str, list[list[tuple[str, str]]]]:
        async with opened(neo4j) as graphiti:
            results = {
                one.uuid: [
                    await graphiti.search_(one.name, recipe, [GROUP])
                    for recipe in (COMMUNITY_HYBRID_SEARCH_RRF, COMBINED_HYBRID_SEARCH_RRF)
                ]
                for one in communities
            }
        return {
            uuid: [[(node.uuid, node.summary) for node in one.communities] for one in both]
            for uuid, both in results.items()
        }

    hits = asyncio.run(found())
    assert len(hits) == len(communities) > 3
    for one in communities:
        assert all((one.uuid, one.summary) in nodes for nodes in hits[one.uuid]), one.name


@pytest.mark.neo4j
def test_graphitis_full_text_search_and_its_vector_search_each_find_every_community(
    served: str, neo4j: Neo4jServer
) -> None:
    communities, _ = stored(served)

    async def found() -> dict[str, tuple[set[str], set[str]]]:
        hits = {}
        async with opened(neo4j) as graphiti:
            for one in communities:
                vector = await graphiti.embedder.create(one.name)
                by_words = await community_fulltext_search(graphiti.driver, one.name, [GROUP])
                by_vector = await community_similarity_search(graphiti.driver, vector, [GROUP])
                hits[one.uuid] = uuids(by_words), uuids(by_vector)
        return hits

    hits = asyncio.run(found())
    assert len(hits) == len(communities) > 3
    assert [one.name for one in communities if one.uuid not in hits[one.uuid][0]] == []
    assert [one.name for one in communities if one.uuid not in hits[one.uuid][1]] == []


def uuids(nodes: Sequence[CommunityNode]) -> set[str]:
    return {node.uuid for node in nodes}


@pytest.mark.full
def test_graphitis_vector_search_finds_every_community_in_an_embedded_graph(
    embedded: str,
) -> None:
    # Its full-text search needs an extension of the database, which turnetl does not install.
    communities, _ = stored(embedded)

    async def found() -> dict[str, list[str]]:
        driver = await graphiti_driver(embedded)
        async with wiring.embedder(Settings()) as embedder:
            vectors = {
                one.uuid: await GraphitiEmbedder(embedder).create(one.name) for one in communities
            }
        results = {
            uuid: await community_similarity_search(driver, vector, [GROUP])
            for uuid, vector in vectors.items()
        }
        await driver.close()
        return {uuid: [node.uuid for node in nodes] for uuid, nodes in results.items()}

    hits = asyncio.run(found())
    assert len(hits) == len(communities) > 3
    assert [one.name for one in communities if one.uuid not in hits[one.uuid]] == []


@pytest.mark.full
@pytest.mark.parametrize("graph", ["embedded", pytest.param("served", marks=pytest.mark.neo4j)])
def test_graphitis_recipe_in_memory_finds_every_community_by_its_name(
    graph: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = str(request.getfixturevalue(graph))
    for one in stored(url)[0]:
        arguments = ("--recipe", "community-hybrid-search-rrf", "--group", GROUP, "--graph", url)
        result = run_in_process("search", *arguments, one.name, "--json", folder=tmp_path)
        assert one.name in [found["name"] for found in result.json["communities"]]


@pytest.mark.neo4j
def test_communities_that_graphiti_makes_change_nothing_else_and_a_build_replaces_them(
    served: str, neo4j: Neo4jServer, tmp_path: Path
) -> None:
    # The clusters are given: Graphiti's label propagation does not end on this graph.
    ours, contents = stored(served)

    async def replace() -> set[tuple[str, str]]:
        async with opened(neo4j) as graphiti:
            await remove_communities(graphiti.driver, [GROUP])
            members = set()
            for one in ours:
                cluster = await EntityNode.get_by_uuids(graphiti.driver, [*one.members])
                node, edges = await build_community(graphiti.llm_client, cluster)
                await node.generate_name_embedding(graphiti.embedder)
                await node.save(graphiti.driver)
                for edge in edges:
                    await edge.save(graphiti.driver)
                    members.add((node.uuid, edge.target_node_uuid))
        return members

    written = asyncio.run(replace())
    theirs, after = stored(served)
    assert {(one.uuid, member) for one in theirs for member in one.members} == written
    assert after == contents
    build(tmp_path, served)
    again, _ = stored(served)
    assert [(one.uuid, one.name, one.members) for one in again] == [
        (one.uuid, one.name, one.members) for one in ours
    ]


@pytest.fixture(autouse=True)
def quiet_driver_logs(caplog: pytest.LogCaptureFixture) -> None:
    """Graphiti's driver creates its indexes twice concurrently, and logs that."""
    caplog.set_level(logging.CRITICAL, logger="neo4j")
    caplog.set_level(logging.CRITICAL, logger="graphiti_core")


class EndlessPropagation(Exception):
    """Graphiti's label propagation began another round than it could ever need."""


class CountedRounds(dict[str, list[Neighbor]]):
    """The neighbours of each entity: Graphiti iterates over them once in each round."""

    rounds = 0

    def items(self) -> Any:
        self.rounds += 1
        if self.rounds > MAX_ROUNDS:
            raise EndlessPropagation
        return super().items()


@pytest.mark.full
def test_graphitis_label_propagation_alternates_forever_on_the_samples(embedded: str) -> None:
    """The reason why turnetl has one of its own."""
    [group, *_] = asyncio.run(loaded(embedded))
    pairs = Counter((fact.source, fact.target) for fact in group.facts)
    projection = CountedRounds({entity.uuid: [] for entity in group.entities})
    for (source, target), count in pairs.items():
        projection[source].append(Neighbor(node_uuid=target, edge_count=count))
        projection[target].append(Neighbor(node_uuid=source, edge_count=count))
    with pytest.raises(EndlessPropagation):
        label_propagation(projection)
    network = entity_network(group.entities, group.facts)
    assert len(set(propagate_labels(network).values())) > 1


async def loaded(graph: str) -> list[GroupContents]:
    store = await open_graph(graph, user="", password="")
    found = [await store.load(group) for group in await store.groups()]
    await store.close()
    return found
