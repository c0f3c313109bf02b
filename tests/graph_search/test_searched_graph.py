"""Only vectors of the embedder of the search are compared with the query's."""

from dataclasses import replace

import pytest

from tests.builders import GROUP
from tests.graph import searched_project
from tests.graph.sample_changes import vector
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.graph_model import GroupContents, GroupProfile, Subgraphs
from turnetl.base.model import GroupId
from turnetl.graph.search import SearchedGraph, SearchedGroup


async def group(name: GroupId = GROUP, profile: GroupProfile | None = None) -> SearchedGroup:
    changes = await searched_project.changes(name)
    contents = GroupContents(
        group_id=name,
        profile=profile or searched_project.PROFILE,
        entities=tuple(entity for change in changes for entity in change.entities),
        facts=tuple(fact for change in changes for fact in change.facts),
        receipts=(),
        texts={},
    )
    return SearchedGroup(contents, Subgraphs((), (), tuple(searched_project.communities(name))))


async def complete(graph: SearchedGraph, embedder: ToyEmbedder) -> SearchedGraph:
    return await graph.with_vectors(embedder, entities=True, facts=True, communities=True)


async def test_stored_vectors_of_the_embedder_are_used() -> None:
    embedder = ToyEmbedder()
    loaded = await group()
    graph = await complete(SearchedGraph.of([loaded], embedder), embedder)
    assert graph.facts == loaded.contents.facts
    assert graph.entities == loaded.contents.entities
    # Nobody knows which embedder made the vectors of communities.
    assert embedder.embedded == [community.name for community in graph.communities]


@pytest.mark.parametrize(
    "profile",
    [
        GroupProfile("another/1", ToyEmbedder.dimensions, "recipe-1"),
        GroupProfile(ToyEmbedder.name, 8, "recipe-1"),
    ],
    ids=["embedder", "dimensions"],
)
async def test_texts_of_a_group_with_another_embedder_are_embedded(profile: GroupProfile) -> None:
    embedder = ToyEmbedder()
    loaded = await group(profile=profile)
    other = tuple(replace(fact, embedding=vector(fact.text)) for fact in loaded.contents.facts)
    loaded = replace(loaded, contents=replace(loaded.contents, facts=other))
    graph = await complete(SearchedGraph.of([loaded], embedder), embedder)
    assert [fact.embedding for fact in graph.facts] == [
        await searched_project.embed(fact.text) for fact in graph.facts
    ]
    assert {fact.text for fact in other} <= set(embedder.embedded)


async def test_a_vector_of_other_dimensions_within_a_group_is_replaced() -> None:
    embedder = ToyEmbedder()
    loaded = await group()
    first, *others = loaded.contents.entities
    entities = (replace(first, embedding=vector(first.name)), *others)
    loaded = replace(loaded, contents=replace(loaded.contents, entities=entities))
    graph = await complete(SearchedGraph.of([loaded], embedder), embedder)
    assert graph.entities[0].embedding == await searched_project.embed(first.name)


async def test_groups_are_merged_in_the_order_of_their_names() -> None:
    embedder = ToyEmbedder()
    groups = [await group(GroupId(name)) for name in ("b", "a")]
    graph = SearchedGraph.of(groups, embedder)
    assert graph.groups == ("a", "b")
    assert [fact.group_id for fact in graph.facts] == ["a"] * 12 + ["b"] * 12


async def test_only_the_kinds_that_are_searched_are_embedded() -> None:
    embedder = ToyEmbedder()
    profile = GroupProfile("another/1", ToyEmbedder.dimensions, "recipe-1")
    graph = SearchedGraph.of([await group(profile=profile)], embedder)
    await graph.with_vectors(embedder, entities=False, facts=True, communities=False)
    assert embedder.embedded == [fact.text for fact in graph.facts]
