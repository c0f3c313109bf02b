"""A search with a recipe: the same results from every store, each with its turns."""

from collections.abc import Iterable
from datetime import timedelta

import pytest

from tests.builders import GROUP, START
from tests.fakes.models import FakeModel, scripted
from tests.graph import searched_project
from tests.graph.sample_changes import NOW, PROFILE, TTL, long_history, receipt
from tests.graph.searched_project import EMBEDDER, QUERIES, entity_id, turn_id
from turnetl.base import ids
from turnetl.base.errors import BadUsage, ModelUnusable
from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.graph.search import SearchedGroup
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.retrieval.recipe_search import RecipeResults, search_with_recipe
from turnetl.retrieval.recipes import Recipe, RecipeOptions

CHECKOUT_TEST, EVENTS, DATABASES, CART = QUERIES


async def search(
    group: SearchedGroup,
    recipe: Recipe,
    query: str = CHECKOUT_TEST,
    *,
    center: str | None = None,
    bfs_depth: int | None = None,
    model: ChatModel | None = None,
    **options: object,
) -> RecipeResults:
    return await search_with_recipe(
        [group],
        query,
        RecipeOptions(recipe, center, bfs_depth),
        EMBEDDER,
        model=model,
        **options,  # type: ignore[arg-type]  # limit, since, until
    )


def turns(receipts: Iterable[Receipt]) -> list[str]:
    return [receipt.turn_id for receipt in receipts]


async def test_both_stores_give_the_results_of_the_recipe_with_their_turns(
    store: GraphStore,
) -> None:
    group = await searched_project.fill(store)
    results = await search(group, Recipe.COMBINED_HYBRID_SEARCH_RRF)
    best = results.facts[0]
    assert best.fact.text == "the test failed: a price was missing"
    assert (best.source, best.target) == ("pytest -q", "KeyError price")
    assert turns(best.turns) == [turn_id(0)]
    assert (best.turns[0].archive, best.turns[0].first_line) == ("archives/s1.jsonl", 1)
    error = next(found for found in results.entities if found.entity.name == "KeyError price")
    assert turns(error.turns) == [turn_id(0), turn_id(1)]
    assert results.episodes[0].episode.uuid == turn_id(0)
    assert results.episodes[0].turn == group.contents.receipts[0]
    # Ranks decide the scores, so that they can be written down: first in both searches.
    assert best.score == 2.0
    assert [found.score for found in results.episodes] == [1 / rank for rank in range(1, 7)]


async def test_a_fact_of_several_turns_names_them_oldest_first(store: GraphStore) -> None:
    group = await searched_project.fill(store)
    results = await search(group, Recipe.EDGE_HYBRID_SEARCH_EPISODE_MENTIONS, CART)
    first = results.facts[0]
    assert first.fact.text == "cart.py adds up the order total"
    assert turns(first.turns) == [turn_id(0), turn_id(1), turn_id(3)]
    # The score is what orders the facts: in how many episodes each is stated.
    scores = [found.score for found in results.facts]
    assert scores == [len(found.fact.turns) for found in results.facts]
    assert scores == sorted(scores, reverse=True)


async def test_each_fact_has_the_score_of_its_own_distance(store: GraphStore) -> None:
    group = await searched_project.fill(store)
    results = await search(
        group, Recipe.EDGE_HYBRID_SEARCH_NODE_DISTANCE, DATABASES, center="sqlite"
    )
    scores = {found.source: found.score for found in results.facts}
    assert scores["migration script"] == scores["postgres"] == 1.0
    assert scores["cart.py"] == 0.0
    assert [found.score for found in results.facts] == sorted(
        (found.score for found in results.facts), reverse=True
    )
    assert results.center is not None
    assert results.center.uuid == entity_id("sqlite")


async def test_a_breadth_first_search_starts_at_the_center(store: GraphStore) -> None:
    group = await searched_project.fill(store)
    recipe, query = Recipe.EDGE_HYBRID_SEARCH_RRF, "unrelated"
    near = await search(group, recipe, query, center="webhook handler", bfs_depth=1, limit=50)
    far = await search(group, recipe, query, center="webhook handler", bfs_depth=2, limit=50)
    walked = {"payment events go to payments.py", "events that come twice double it"}
    texts = [{found.fact.text for found in results.facts} for results in (near, far)]
    assert walked <= texts[0]
    assert "a checkout ends in payments.py" not in texts[0]
    assert "a checkout ends in payments.py" in texts[1]


async def test_a_chunk_leads_to_its_turn(store: GraphStore) -> None:
    lease = await store.acquire(
        GROUP, PROFILE, owner="host:1", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    for change in long_history():
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    group = SearchedGroup(await store.load(GROUP), await store.load_subgraphs(GROUP))
    results = await search(group, Recipe.COMBINED_HYBRID_SEARCH_RRF, "gamma")
    second = long_history()[1].episode
    found = results.episodes[0]
    assert found.episode.uuid == ids.chunk_id(second.turn_id, 2)
    assert found.turn is not None
    assert found.turn.turn_id == second.turn_id


@pytest.fixture(scope="module")
async def project(tmp_path_factory: pytest.TempPathFactory) -> SearchedGroup:
    return await loaded(tmp_path_factory)


async def loaded(tmp_path_factory: pytest.TempPathFactory, group: GroupId = GROUP) -> SearchedGroup:
    path = tmp_path_factory.mktemp("graph") / "graph.lbug"
    store = await open_graph(f"ladybug://{path}", user="", password="")
    await store.prepare()
    filled = await searched_project.fill(store, group)
    await store.close()
    return filled


async def test_since_and_until_search_what_the_turns_of_that_time_state_or_mention(
    project: SearchedGroup,
) -> None:
    since, until = START + timedelta(hours=4), START + timedelta(hours=5)
    results = await search(
        project,
        Recipe.COMBINED_HYBRID_SEARCH_RRF,
        DATABASES,
        since=since,
        until=until,
        limit=100,
    )
    assert {found.fact.text for found in results.facts} <= {
        "events that come twice double it",
        "orders are read from sqlite in one go",
        "it writes them to postgres and checks",
    }
    assert [found.episode.uuid for found in results.episodes] == [turn_id(4)]
    assert "postgres" in {found.entity.name for found in results.entities}
    assert "payments.py" not in {found.entity.name for found in results.entities}
    assert {turn for found in results.facts for turn in turns(found.turns)} == {turn_id(4)}
    assert {turn for found in results.entities for turn in turns(found.turns)} == {turn_id(4)}


async def test_the_limit_is_that_of_each_kind(project: SearchedGroup) -> None:
    results = await search(project, Recipe.COMBINED_HYBRID_SEARCH_RRF, limit=2)
    assert (len(results.facts), len(results.entities), len(results.episodes)) == (2, 2, 2)


@pytest.mark.parametrize("query", ["", "   "])
async def test_an_empty_query_has_no_results(project: SearchedGroup, query: str) -> None:
    results = await search(project, Recipe.COMBINED_HYBRID_SEARCH_RRF, query)
    assert results == RecipeResults(Recipe.COMBINED_HYBRID_SEARCH_RRF, None)


async def test_a_query_of_very_many_words_is_compared_by_its_vector_only(
    project: SearchedGroup,
) -> None:
    results = await search(project, Recipe.COMBINED_HYBRID_SEARCH_RRF, "cart.py " * 200)
    assert results.facts
    assert results.episodes == ()


async def test_several_groups_are_searched_together(
    tmp_path_factory: pytest.TempPathFactory, project: SearchedGroup
) -> None:
    other = await loaded(tmp_path_factory, GroupId("other"))
    options = RecipeOptions(Recipe.COMBINED_HYBRID_SEARCH_RRF)
    results = await search_with_recipe([other, project], CHECKOUT_TEST, options, EMBEDDER)
    for found in (results.facts[:2], results.episodes[:2]):
        assert {_group(result) for result in found} == {"other", "shop"}
    with pytest.raises(BadUsage, match=r"`cart\.py` is 2 entities: .*other.*shop"):
        await search_with_recipe(
            [other, project],
            CART,
            RecipeOptions(Recipe.NODE_HYBRID_SEARCH_NODE_DISTANCE, "cart.py"),
            EMBEDDER,
        )


def _group(result: object) -> str:
    value = getattr(result, "fact", None) or getattr(result, "episode", None)
    group: str = value.group_id  # type: ignore[union-attr]  # one of both
    return group


async def test_an_unknown_center_is_reported(project: SearchedGroup) -> None:
    with pytest.raises(BadUsage, match=r"named `carts\.py`; similar are `cart\.py`"):
        await search(project, Recipe.NODE_HYBRID_SEARCH_NODE_DISTANCE, center="carts.py")


async def test_the_cross_encoder_orders_the_results_with_equal_requests_for_equal_searches(
    project: SearchedGroup,
) -> None:
    model = FakeModel(prefer_later_passages)
    results = await search(
        project, Recipe.NODE_HYBRID_SEARCH_CROSS_ENCODER, DATABASES, model=model, limit=4
    )
    assert len(model.requests) == 1
    scores = [found.score for found in results.entities]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 4
    again = await search(
        project, Recipe.NODE_HYBRID_SEARCH_CROSS_ENCODER, DATABASES, model=model, limit=4
    )
    # The journal has the response of an equal request.
    assert model.requests[1] == model.requests[0]
    assert again == results


async def test_a_failure_of_the_model_ends_the_search(project: SearchedGroup) -> None:
    model = scripted([ModelUnusable("no credit")])
    with pytest.raises(ModelUnusable, match="no credit"):
        await search(project, Recipe.COMBINED_HYBRID_SEARCH_CROSS_ENCODER, model=model)


async def prefer_later_passages(request: ChatRequest) -> ChatResponse:
    count = request.messages[-1].text.count('"passage": ')
    entries = ", ".join(f'{{"passage": {n}, "score": {n + 1}}}' for n in range(count))
    return ChatResponse(f'{{"scores": [{entries}]}}', 100, 10, truncated=False)
