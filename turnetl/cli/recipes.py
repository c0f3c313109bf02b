"""The options of `turnetl search` that run one of Graphiti's recipes."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import CommonOptions


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


def search_with_recipe(
    query: str,
    name: str,
    arguments: RecipeArguments,
    common: CommonOptions,
    *,
    groups: tuple[str, ...],
    since: datetime | None,
    until: datetime | None,
    by_time: bool,
    limit: int | None,
) -> int:
    """Run the recipe with this name and print its results."""
    from turnetl.retrieval.recipes import recipe_options

    options = recipe_options(name, center=arguments.center, bfs_depth=arguments.bfs)

    from turnetl import pipeline
    from turnetl.report import recipe_results as view
    from turnetl.report.search_hits import usage_messages

    results = console.run_async(
        pipeline.search_recipe(
            query,
            common.settings(),
            options,
            now,
            groups=groups,
            since=since,
            until=until,
            by_time=by_time,
            limit=limit,
        )
    )
    console.print_messages(usage_messages(results.usage))
    console.print_result(view.table(results, Path.cwd()), results, as_json=common.json)
    return ExitCode.DONE
