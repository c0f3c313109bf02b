"""Search with one of Graphiti's recipes in the graph that the settings name."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.graph.search import SearchedGroup
from turnetl.llm.chat import ChatModel
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Prices
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import check_graph, warn_of_empty_graph
from turnetl.pipeline.requested_model import requested_model
from turnetl.retrieval.recipe_search import RecipeResults, newest_first, search_with_recipe
from turnetl.retrieval.recipes import Recipe, RecipeOptions
from turnetl.settings import Settings

log = logging.getLogger(__name__)


async def search_recipe(
    query: str,
    settings: Settings,
    options: RecipeOptions,
    clock: Clock,
    *,
    groups: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    by_time: bool = False,
    limit: int | None = None,
) -> RecipeResults:
    """Return the results of a recipe, each with its lineage. Writes nothing to the graph.

    Since and until select what turns of that time state or mention. With `by_time` the results are
    ordered by their last turns, newest first; without a limit each kind has the recipe's own.
    """
    check_graph(settings)
    # Checked before the graph is loaded, which takes a while.
    async with _model(options.recipe, settings, clock) as (model, meter):
        loaded = await _load(settings, groups)
        if not loaded:
            warn_of_empty_graph()
            return RecipeResults(options.recipe, None)
        if not options.recipe.may_walk and not any(group.subgraphs.communities for group in loaded):
            log.warning("the groups have no communities: run `turnetl communities build`")
        async with wiring.embedder(settings) as embedder:
            results = await search_with_recipe(
                loaded,
                query,
                options,
                embedder,
                model=model,
                limit=limit,
                since=since,
                until=until,
            )
        ordered = newest_first(results) if by_time else results
        return replace(ordered, usage=meter.total)


async def _load(settings: Settings, groups: Sequence[str]) -> list[SearchedGroup]:
    async with wiring.store(settings, write=False) as store:
        existing = await store.groups()
        return [
            SearchedGroup(await store.load(group), await store.load_subgraphs(group))
            for group in select_groups(existing, groups)
        ]


@asynccontextmanager
async def _model(
    recipe: Recipe, settings: Settings, clock: Clock
) -> AsyncIterator[tuple[ChatModel | None, Meter]]:
    """Open the model of a recipe with a cross-encoder, None for the others, and its meter."""
    if not recipe.has_model:
        yield None, Meter(Prices())
        return
    async with requested_model(
        settings,
        clock,
        purpose=f"{recipe} orders results",
        alternative="use a recipe without a model, such as "
        f"{recipe.replace('CROSS_ENCODER', 'RRF')}",
    ) as opened:
        yield opened
