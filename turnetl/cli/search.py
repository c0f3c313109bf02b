"""`turnetl search`, also with one of Graphiti's recipes."""

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import (
    NO_COMMON,
    AsOf,
    CommonOptions,
    Flag,
    GroupNames,
    Since,
    Until,
    checked,
    joined_words,
)
from turnetl.index.conditions import CONDITIONS, Selection


@Parameter(name="*")
@dataclass(frozen=True)
class RecipeArguments:
    """A recipe and the options of its search."""

    recipe: Annotated[
        str | None,
        Parameter(
            help="Run Graphiti's search with this recipe: {combined,edge,node,community}-hybrid-"
            "search-{rrf,mmr,cross-encoder}, {edge,node}-hybrid-search-{node-distance,"
            "episode-mentions}."
        ),
    ] = None
    center: str | None = None
    "Entity, by name or uuid, from which a recipe measures distances and --bfs starts."
    bfs: Annotated[int | None, Parameter(validator=Number(gte=1))] = None
    "Also find what this many edges lead to: a recipe's breadth-first search and its depth."

    def check_unused(self) -> None:
        """Check that no option is given that needs a recipe."""
        for option, value in (("--center", self.center), ("--bfs", self.bfs)):
            if value is not None:
                raise BadUsage(f"`{option}` is an option of a recipe: name one with `--recipe`")

    def check_ranking(self, *, rerank: bool, nearest: bool) -> None:
        """Check that no option is given that a recipe cannot follow."""
        if rerank:
            raise BadUsage(
                "a recipe orders its results itself: omit `--rerank`, or use a recipe whose name "
                "ends in CROSS_ENCODER"
            )
        if nearest:
            raise BadUsage(
                "a recipe always prints its nearest results: omit `--nearest`, or `--recipe`"
            )


NO_RECIPE = RecipeArguments()


_FILTERS = Group("Filters", sort_key=1)
_QUERY = (
    "Words or a whole question; quotes are optional. Without a query, the turns that the filters "
    "select are listed, newest first."
)
_MAX_TURNS = 10
"""Turns that a search prints by default."""
_OF_RECIPES = ("groups", "since", "until")


@Parameter(name="*", group=_FILTERS)
@dataclass(frozen=True)
class FilterOptions(Selection):
    """The conditions on the turns of a search; help and types of the others are as declared."""

    groups: GroupNames = ()
    since: Since = None
    until: Until = None
    as_of: AsOf = None

    def check_recipe(self) -> None:
        """Check that no filter is given that a recipe does not have."""
        for name in CONDITIONS:
            if name not in _OF_RECIPES and getattr(self, name) is not None:
                raise BadUsage(
                    f"`--{name.replace('_', '-')}` is not an option of a recipe: a recipe takes "
                    "--group, --since and --until"
                )


@Parameter(name="*")
@dataclass(frozen=True)
class RankingOptions:
    """How many hits are printed, and in which order."""

    sort: Literal["score", "time"] = "score"
    "Order of the hits: best first, or the same hits newest first."
    limit: Annotated[int | None, Parameter(name=("--limit", "-n"), validator=Number(gte=1))] = None
    "Print at most this many turns, or results of each kind [default: 10]."
    nearest: Flag = False
    "Print the nearest turns even if none is close to the query."
    rerank: Flag = False
    "Let the model rate the 30 best turns again, and order them by that."


NO_FILTERS = FilterOptions()
NO_RANKING = RankingOptions()


def search(
    *query: Annotated[str, Parameter(help=_QUERY, allow_leading_hyphen=True)],
    filters: FilterOptions = NO_FILTERS,
    ranking: RankingOptions = NO_RANKING,
    recipe: RecipeArguments = NO_RECIPE,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Find the turns that answer a question, each with its id for `show`.

    With --verbose, each hit also has its archive and lines, score, outcome, facts and files.

    Args:
        recipe: One of Graphiti's recipes in place of the search for turns.
    """
    text = joined_words("search", query)
    selection = checked(filters)
    if not text.strip() and (selection.is_empty or recipe.recipe is not None):
        raise BadUsage(
            "`turnetl search` needs a query, or a filter such as `--since 7d`; "
            "see `turnetl search --help`"
        )
    if recipe.recipe is None:
        recipe.check_unused()
        return _search_turns(text, selection, ranking, common)
    recipe.check_ranking(rerank=ranking.rerank, nearest=ranking.nearest)
    filters.check_recipe()
    return _search_with_recipe(text, recipe.recipe, recipe, selection, ranking, common=common)


def _search_with_recipe(
    query: str,
    name: str,
    arguments: RecipeArguments,
    selection: Selection,
    ranking: RankingOptions,
    *,
    common: CommonOptions,
) -> int:
    from turnetl.retrieval.recipes import Recipe, RecipeOptions

    options = RecipeOptions(Recipe.named(name), arguments.center, arguments.bfs)

    from turnetl import pipeline
    from turnetl.views import recipe_results as view
    from turnetl.views.search_hits import usage_messages

    results = console.run_async(
        pipeline.search_recipe(
            query,
            common.settings(),
            options,
            now,
            groups=selection.groups,
            since=selection.since,
            until=selection.until,
            by_time=ranking.sort == "time",
            limit=ranking.limit,
        )
    )
    console.print_messages(usage_messages(results.usage))
    console.print_result(view.view(results), results, as_json=common.json)
    return ExitCode.DONE


def _search_turns(
    query: str, selection: Selection, ranking: RankingOptions, common: CommonOptions
) -> int:
    from turnetl import pipeline
    from turnetl.retrieval.search import Order
    from turnetl.views import search_hits as view
    from turnetl.views.index import unread_messages

    result = common.executed(
        pipeline.search_turns,
        query,
        common.settings(),
        now,
        selection=selection,
        order=Order(ranking.sort),
        limit=ranking.limit or _MAX_TURNS,
        nearest=ranking.nearest,
        rerank=ranking.rerank,
    )
    console.print_messages(unread_messages(result.unread, result.caught_up_at))
    console.print_messages(view.usage_messages(result.usage))
    table = view.results_view(query, result.found, result.as_of, is_verbose=common.verbose)
    console.print_result(table, result, as_json=common.json)
    return ExitCode.DONE
