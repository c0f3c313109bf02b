"""Graphiti's searches and reads, answered from the group in memory."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from graphiti_core.driver.driver import GraphDriver
from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode
from graphiti_core.search.search_config_recipes import EDGE_HYBRID_SEARCH_RRF
from graphiti_core.search.search_filters import SearchFilters
from graphiti_core.search.search_utils import (
    edge_fulltext_search,
    edge_similarity_search,
    node_fulltext_search,
    node_similarity_search,
)
from graphiti_core.utils.maintenance import edge_operations, node_operations

from tests import builders
from tests.builders import GROUP, START
from tests.extraction import sample_turns
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact, TurnId, Vector
from turnetl.extraction.port import Resolved
from turnetl.graph.mirror import convert
from turnetl.graph.mirror.graphiti_adapters import LeakedRead, MirrorDriver
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.mirror.overlay import CandidateIndex
from turnetl.llm.graphiti import GraphitiEmbedder

NO_FILTER = SearchFilters()


async def group_of(names: Sequence[str], facts: Sequence[tuple[str, str, str]]) -> MirrorGroup:
    """Return a group of entities, and of facts as (source, text, target); uuids are the names."""
    embedder = ToyEmbedder()
    entities = [
        Entity(
            uuid=name,
            group_id=GROUP,
            name=name,
            labels=("File",),
            summary="",
            created_at=START,
            embedding=(await embedder.embed([name]))[0],
        )
        for name in names
    ]
    stated = [
        Fact(
            uuid=text,
            group_id=GROUP,
            source=source,
            target=target,
            relation="USES",
            text=text,
            turns=(TurnId("t"),),
            created_at=START + timedelta(seconds=number),
            valid_at=START,
            embedding=(await embedder.embed([text]))[0],
        )
        for number, (source, text, target) in enumerate(facts)
    ]
    return MirrorGroup(
        GroupContents(
            group_id=GROUP,
            profile=None,
            entities=tuple(entities),
            facts=tuple(stated),
            receipts=(),
            texts={},
        )
    )


async def shop() -> MirrorGroup:
    return await group_of(
        ["cart.py", "cart test", "orders.py"],
        [
            ("cart.py", "the cart uses orders", "orders.py"),
            ("orders.py", "orders call the cart", "cart.py"),
            ("cart.py", "the cart uses itself", "cart.py"),
            ("cart test", "the cart test checks the cart", "cart.py"),
        ],
    )


def driver_of(group: MirrorGroup, recorded: dict[str, Vector] | None = None) -> MirrorDriver:
    vectors = {} if recorded is None else recorded
    return MirrorDriver.for_group(group, CandidateIndex(group), vectors.__setitem__)


async def vector(text: str) -> list[float]:
    return await GraphitiEmbedder(ToyEmbedder()).create(text)


def pair(*endpoints: str) -> SearchFilters:
    return SearchFilters(
        edge_source_node_uuids=list(endpoints), edge_target_node_uuids=list(endpoints)
    )


async def test_the_nearest_names_come_first() -> None:
    found = await node_similarity_search(
        driver_of(await shop()), await vector("cart test"), NO_FILTER, [GROUP], 2, 0.5
    )
    assert found[0].name == "cart test"
    assert len(found) == 2
    assert found[0].labels == ["Entity", "File"]


async def test_a_score_must_exceed_the_minimum() -> None:
    driver = driver_of(await shop())
    query = await vector("cart test")
    assert len(await node_similarity_search(driver, query, NO_FILTER, [GROUP], 9, -1.0)) == 3
    found = await node_similarity_search(driver, query, NO_FILTER, [GROUP], 9, 0.99)
    assert [node.name for node in found] == ["cart test"]


async def test_facts_are_found_by_similarity_and_by_terms() -> None:
    driver = driver_of(await shop())
    near = await edge_similarity_search(
        driver, await vector("orders call the cart"), None, None, NO_FILTER, [GROUP], 1, 0.6
    )
    by_terms = await edge_fulltext_search(driver, "who checks?", NO_FILTER, [GROUP], 20)
    assert [edge.fact for edge in near] == ["orders call the cart"]
    assert [edge.fact for edge in by_terms] == ["the cart test checks the cart"]


async def test_between_two_ends_both_directions_and_loops_are_found() -> None:
    driver = driver_of(await shop())
    filtered = pair("cart.py", "orders.py")
    near = await edge_similarity_search(
        driver, await vector("the cart"), None, None, filtered, [GROUP], 20, -1.0
    )
    by_terms = await edge_fulltext_search(driver, "cart", filtered, [GROUP], 20)
    expected = {"the cart uses orders", "orders call the cart", "the cart uses itself"}
    assert {edge.fact for edge in near} == {edge.fact for edge in by_terms} == expected


async def test_the_full_text_limit_applies_before_the_filter_by_endpoints() -> None:
    """As in Neo4j, where the full-text index returns its best and the query then filters."""
    driver = driver_of(await shop())
    found = await edge_fulltext_search(
        driver, "checks", pair("cart.py", "orders.py"), [GROUP], limit=1
    )
    assert found == []


async def test_a_very_long_query_finds_nothing_by_terms() -> None:
    driver = driver_of(await shop())
    assert await edge_fulltext_search(driver, " ".join(["cart"] * 126), NO_FILTER, [GROUP], 20)
    assert not await edge_fulltext_search(driver, " ".join(["cart"] * 127), NO_FILTER, [GROUP], 20)


async def test_returned_nodes_and_edges_are_copies() -> None:
    group = await shop()
    driver = driver_of(group)
    for _ in range(2):
        node = (await EntityNode.get_by_names(driver, ["cart.py"], [GROUP]))[0]
        edge = (await edge_fulltext_search(driver, "checks", NO_FILTER, [GROUP], 1))[0]
        assert (node.summary, node.labels) == ("", ["Entity", "File"])
        assert edge.episodes == ["t"]
        node.summary = "changed"
        node.labels.append("Other")
        node.attributes["x"] = 1
        edge.episodes.append("u")
        edge.invalid_at = START
    assert group.entity("cart.py") == next(iter((await shop()).entities))


async def test_the_vectors_of_candidates_are_reported() -> None:
    group = await shop()
    seen: dict[str, Vector] = {}
    await node_similarity_search(
        driver_of(group, seen), await vector("cart"), NO_FILTER, [GROUP], 9, -1.0
    )
    assert seen == {entity.name: entity.embedding for entity in group.entities}


async def test_entities_are_read_by_exact_name_and_by_uuid() -> None:
    driver = driver_of(await shop())
    assert await EntityNode.get_by_names(driver, ["CART.PY"], [GROUP]) == []
    by_uuid = await EntityNode.get_by_uuids(driver, ["orders.py", "unknown"], group_id=GROUP)
    assert [node.name for node in by_uuid] == ["orders.py"]
    driver.check()


async def test_an_applied_entity_is_found() -> None:
    group = await shop()
    candidates = CandidateIndex(group)
    vectors: dict[str, Vector] = {}
    MirrorDriver.for_group(group, candidates, vectors.__setitem__)
    newer = next(iter((await group_of(["ledger.py"], [])).entities))
    await sample_turns.apply(group, builders.episode(), Resolved((newer,), (), ()), ToyEmbedder())
    driver = MirrorDriver.for_group(group, candidates, vectors.__setitem__)
    found = await node_similarity_search(
        driver, await vector("ledger.py"), NO_FILTER, [GROUP], 1, 0.9
    )
    assert [node.name for node in found] == ["ledger.py"]


@pytest.mark.parametrize(
    "unsupported",
    [
        SearchFilters(node_labels=["File"]),
        SearchFilters(edge_types=["USES"]),
        SearchFilters(edge_uuids=["x"]),
        SearchFilters(edge_source_node_uuids=["a"]),
        SearchFilters(edge_source_node_uuids=["a"], edge_target_node_uuids=["b"]),
    ],
)
async def test_a_filter_that_is_not_supported_is_rejected(unsupported: SearchFilters) -> None:
    driver = driver_of(await shop())
    with pytest.raises(NotImplementedError):
        await edge_fulltext_search(driver, "cart", unsupported, [GROUP], 20)
    with pytest.raises(NotImplementedError):
        await edge_similarity_search(driver, [0.0] * 64, None, None, unsupported, [GROUP], 20, 0.6)
    with pytest.raises(NotImplementedError):
        await node_similarity_search(driver, [0.0] * 64, unsupported, [GROUP], 20, 0.6)


@pytest.mark.parametrize("groups", [None, ["other"], [GROUP, "other"]])
async def test_a_search_in_other_groups_is_rejected(groups: list[str] | None) -> None:
    with pytest.raises(NotImplementedError):
        await edge_fulltext_search(driver_of(await shop()), "cart", NO_FILTER, groups, 20)


async def test_a_search_that_is_not_supported_is_rejected() -> None:
    with pytest.raises(NotImplementedError):
        await node_fulltext_search(driver_of(await shop()), "cart", NO_FILTER, [GROUP], 20)


async def test_every_other_query_is_rejected_and_recorded() -> None:
    driver = driver_of(await shop())
    with pytest.raises(LeakedRead):
        await EntityEdge.get_by_group_ids(driver, [GROUP])
    with pytest.raises(LeakedRead):
        driver.session()
    assert len(driver.leaks) == 2
    with pytest.raises(LeakedRead, match="MATCH"):
        driver.check()


async def test_a_read_whose_failure_graphiti_suppresses_is_detected() -> None:
    """Graphiti continues without exact names when their lookup fails."""
    driver = MirrorDriver()
    assert (await candidates_by_name(driver)) == [[]]
    with pytest.raises(LeakedRead):
        driver.check()


async def candidates_by_name(driver: GraphDriver) -> list[list[EntityNode]]:
    class Clients:
        pass

    clients = Clients()
    clients.driver = driver  # type: ignore[attr-defined]  # the only attribute that is used
    node = EntityNode(name="cart.py", group_id=GROUP)
    return await node_operations._collect_exact_name_candidate_nodes(  # noqa: SLF001 - a contract
        clients,  # type: ignore[arg-type]
        [node],
    )


def test_values_survive_the_conversion_to_graphitis_and_back() -> None:
    fact = Fact(
        uuid="f",
        group_id=GROUP,
        source="a",
        target="b",
        relation="USES",
        text="a uses b",
        turns=(TurnId("t"), TurnId("u")),
        created_at=START,
        valid_at=START,
        invalid_at=START,
        expired_at=START,
        reference_time=START,
        attributes={"n": 1},
    )
    entity = Entity(
        uuid="e",
        group_id=GROUP,
        name="a",
        labels=("File", "Tool"),
        summary="s",
        created_at=START,
        attributes={"x": "y"},
    )
    assert convert.from_edge(convert.to_edge(fact)) == fact
    assert convert.from_node(convert.to_node(entity)) == entity
    twice = convert.to_edge(replace(fact, turns=(TurnId("t"),)))
    twice.episodes.append("t")
    assert convert.from_edge(twice).turns == ("t",)


def test_graphitis_limits_are_those_that_the_mirror_assumes() -> None:
    """Numbers that the mirror depends on."""
    assert node_operations.NODE_DEDUP_CANDIDATE_LIMIT == 15
    assert node_operations.NODE_DEDUP_COSINE_MIN_SCORE == 0.6
    config = EDGE_HYBRID_SEARCH_RRF.edge_config
    assert config is not None
    assert [method.value for method in config.search_methods] == ["bm25", "cosine_similarity"]
    assert config.reranker.value == "reciprocal_rank_fusion"
    assert config.sim_min_score == 0.6
    assert EDGE_HYBRID_SEARCH_RRF.limit == 10


def test_the_pair_filter_lists_both_ends_as_source_and_target() -> None:
    edge = EntityEdge(
        group_id=GROUP,
        source_node_uuid="a",
        target_node_uuid="b",
        name="USES",
        fact="a uses b",
        created_at=START,
    )
    search_filter = edge_operations._pair_search_filter(edge)  # noqa: SLF001 - a contract
    assert search_filter == pair("a", "b")
