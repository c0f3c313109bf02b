"""The parts of recipes in a graph: the same for both stores."""

from turnetl.base.ids import RecipePart, recipe_digest
from turnetl.graph.port import GraphStore

PARTS = {"template": RecipePart("t1", "all.md"), "model": RecipePart('anthropic:m "1"')}
OTHER = {"structural rules": RecipePart("r1")}


async def test_recorded_recipes_are_returned_by_their_digest(store: GraphStore) -> None:
    await store.record_recipe(PARTS)
    await store.record_recipe(OTHER)
    asked = [recipe_digest(PARTS), "unknown"]
    assert await store.recipes(asked) == {recipe_digest(PARTS): PARTS}
    assert await store.recipes([]) == {}


async def test_a_recipe_may_be_recorded_again(store: GraphStore) -> None:
    await store.record_recipe(PARTS)
    await store.record_recipe(PARTS)
    assert await store.recipes([recipe_digest(PARTS)]) == {recipe_digest(PARTS): PARTS}
