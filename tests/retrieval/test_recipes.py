"""Recipes by name, their options, and the entity that a user names as the center."""

from dataclasses import replace

import pytest
from graphiti_core.search import search_config_recipes
from graphiti_core.search.search_config import (
    EdgeReranker,
    EdgeSearchMethod,
    NodeReranker,
    NodeSearchMethod,
    SearchConfig,
)

from tests.graph.sample_changes import entity
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.graph.search import search_config
from turnetl.retrieval.recipe_search import find_entity
from turnetl.retrieval.recipes import Recipe, RecipeOptions


def graphitis(recipe: Recipe) -> SearchConfig:
    config = getattr(search_config_recipes, recipe)
    assert isinstance(config, SearchConfig)
    return config


def test_the_recipes_are_those_of_graphiti() -> None:
    theirs = [
        name
        for name, value in vars(search_config_recipes).items()
        if isinstance(value, SearchConfig)
    ]
    assert list(Recipe) == theirs


def test_what_a_recipe_needs_and_does_is_what_graphiti_configures(
    subtests: pytest.Subtests,
) -> None:
    for recipe in Recipe:
        with subtests.test(recipe=recipe):
            config = graphitis(recipe)
            parts = (
                config.edge_config,
                config.node_config,
                config.episode_config,
                config.community_config,
            )
            rerankers = {part.reranker.value for part in parts if part is not None}
            methods = {
                method.value for part in parts if part is not None for method in part.search_methods
            }
            assert recipe.has_model == ("cross_encoder" in rerankers)
            assert recipe.has_distance == (EdgeReranker.node_distance.value in rerankers)
            assert recipe.has_distance == (NodeReranker.node_distance.value in rerankers)
            assert recipe.walks == (EdgeSearchMethod.bfs.value in methods)
            assert recipe.may_walk == (
                config.edge_config is not None or config.node_config is not None
            )


@pytest.mark.parametrize(
    "name",
    ["EDGE_HYBRID_SEARCH_RRF", "edge-hybrid-search-rrf", " Edge_Hybrid-Search_rrf "],
)
def test_a_name_may_be_in_any_case_with_dashes(name: str) -> None:
    assert Recipe.named(name) is Recipe.EDGE_HYBRID_SEARCH_RRF


def test_an_unknown_recipe_is_rejected_with_a_list_of_all() -> None:
    with pytest.raises(BadUsage, match=r"no search recipe `rrf`; recipes: ") as error:
        Recipe.named("rrf")
    assert [recipe for recipe in Recipe if recipe not in str(error.value)] == []


@pytest.mark.parametrize("recipe", [recipe for recipe in Recipe if recipe.has_distance])
def test_node_distance_needs_a_center(recipe: Recipe) -> None:
    with pytest.raises(BadUsage, match="name it with `--center`"):
        RecipeOptions(recipe)
    assert RecipeOptions(recipe, "cart.py").center == "cart.py"


def test_a_center_that_the_recipe_does_not_use_is_rejected() -> None:
    with pytest.raises(BadUsage, match="has no use for `--center`: add `--bfs DEPTH`"):
        RecipeOptions(Recipe.named("node-hybrid-search-rrf"), center="cart.py", bfs_depth=None)
    RecipeOptions(Recipe.named("node-hybrid-search-rrf"), center="cart.py", bfs_depth=1)
    RecipeOptions(
        Recipe.named("node-hybrid-search-cross-encoder"), center="cart.py", bfs_depth=None
    )


def test_a_breadth_first_search_for_communities_is_rejected() -> None:
    with pytest.raises(BadUsage, match="omit `--bfs`"):
        RecipeOptions(Recipe.named("community-hybrid-search-rrf"), center=None, bfs_depth=2)


@pytest.mark.parametrize("depth", [0, -1])
def test_a_depth_below_one_is_rejected(depth: int) -> None:
    with pytest.raises(BadUsage, match=f"at least 1, not {depth}"):
        RecipeOptions(Recipe.named("node-hybrid-search-rrf"), center=None, bfs_depth=depth)


def test_without_options_a_recipe_is_graphitis(subtests: pytest.Subtests) -> None:
    for recipe in Recipe:
        with subtests.test(recipe=recipe):
            assert search_config(recipe, limit=None, bfs_depth=None) == graphitis(recipe)


def test_a_depth_adds_a_breadth_first_search_once_and_leaves_graphitis_recipe_alone(
    subtests: pytest.Subtests,
) -> None:
    for recipe in [recipe for recipe in Recipe if recipe.may_walk]:
        with subtests.test(recipe=recipe):
            before = graphitis(recipe).model_copy(deep=True)
            config = search_config(recipe, limit=7, bfs_depth=2)
            assert config.limit == 7
            if config.edge_config is not None:
                assert config.edge_config.search_methods.count(EdgeSearchMethod.bfs) == 1
                assert config.edge_config.bfs_max_depth == 2
            if config.node_config is not None:
                assert config.node_config.search_methods.count(NodeSearchMethod.bfs) == 1
                assert config.node_config.bfs_max_depth == 2
            assert graphitis(recipe) == before


CART = replace(entity("cart.py"), uuid="1f3a9c2e-0001")
TWIN = replace(entity("cart.py", "Module"), uuid="1f3a9c2e-0002", group_id=GroupId("other"))
TOTAL = replace(entity("order total", "Concept"), uuid="2b000000-0003")
HEX = replace(entity("2b"), uuid="3c000000-0004")


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("1f3a9c2e-0002", TWIN),
        ("order total", TOTAL),
        ("2b00", TOTAL),
        ("2B00", TOTAL),
        # A name comes before the beginning of a uuid.
        ("2b", HEX),
    ],
)
def test_an_entity_is_named_by_uuid_exact_name_or_the_beginning_of_its_uuid(
    reference: str, expected: object
) -> None:
    assert find_entity([CART, TWIN, TOTAL, HEX], reference) is expected


@pytest.mark.parametrize("reference", ["cart.py", "1f3a"])
def test_several_entities_are_named_so_that_one_can_be_chosen(reference: str) -> None:
    with pytest.raises(BadUsage) as error:
        find_entity([CART, TWIN, TOTAL], reference)
    assert str(error.value) == (
        f"`{reference}` is 2 entities: `cart.py` (File, shop, 1f3a9c2e-0001), "
        "`cart.py` (Module, other, 1f3a9c2e-0002); name one by its uuid or the beginning of it, or "
        "its group with `--group`"
    )


def test_of_many_candidates_the_first_are_named_and_the_others_counted() -> None:
    many = [replace(entity("cart.py"), uuid=f"{number:08}-0000") for number in range(20)]
    with pytest.raises(BadUsage, match=r"is 20 entities: .*\(File, shop, 00000007\) and 12 more;"):
        find_entity(many, "cart.py")


def test_an_unknown_entity_is_reported_with_similar_names() -> None:
    with pytest.raises(BadUsage, match=r"named `Cart\.pyx`; similar are `cart\.py` \(File, shop,"):
        find_entity([CART, TOTAL], "Cart.pyx")


@pytest.mark.parametrize("reference", ["", "webhook"])
def test_without_a_similar_name_the_message_says_where_names_are_listed(reference: str) -> None:
    with pytest.raises(BadUsage, match="a search with a NODE recipe lists entities"):
        find_entity([CART, TOTAL], reference)
