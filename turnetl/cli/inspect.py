"""Commands that write nothing: status, search, formats, rules."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.cli.options import (
    NO_COMMON,
    NO_NOISE,
    NO_OUTPUT,
    CloseAfterMinutes,
    CommonOptions,
    Flag,
    GroupNames,
    NoiseOptions,
    OutputOptions,
)
from turnetl.cli.recipes import NO_RECIPE, RecipeArguments, search_with_recipe
from turnetl.cli.times import Since, Until
from turnetl.clock import now
from turnetl.exit_code import ExitCode

_MAX_TURNS = 10
"""Turns that a search prints by default."""


def status(
    *,
    groups: GroupNames = (),
    close_after: CloseAfterMinutes = None,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Print per group what is in the graph, what is pending, and why."""
    from turnetl import pipeline
    from turnetl.json_output.status import status_output
    from turnetl.report import status as view

    settings = common.settings(close_after_minutes=close_after)
    report = console.run_async(pipeline.status(settings, pipeline.RunOptions(groups), now))
    console.print_messages(view.messages(report))
    console.print_result(view.table(report), status_output(report), as_json=common.json)
    return ExitCode.DONE


def search(
    *query: Annotated[str, Parameter(required=True)],
    groups: GroupNames = (),
    since: Since = None,
    until: Until = None,
    limit: Annotated[int | None, Parameter(name=("--limit", "-n"), validator=Number(gte=1))] = None,
    nearest: Flag = False,
    rerank: Flag = False,
    recipe: RecipeArguments = NO_RECIPE,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Find the turns that match a query, with their facts, files and lines.

    Args:
        query: Words or a whole question; quotes are optional.
        limit: Print at most this many turns, or results of each kind [default: 10].
        nearest: Print the nearest turns even if none is close to the query.
        rerank: Let the model rate the 30 best turns again, and order them by that.
        recipe: One of Graphiti's recipes in place of the search for turns.
    """
    if recipe.recipe is not None:
        recipe.check_order(rerank=rerank)
        return search_with_recipe(
            " ".join(query),
            recipe.recipe,
            recipe,
            common,
            groups=groups,
            since=since,
            until=until,
            limit=limit,
        )
    recipe.check_unused()

    from turnetl import pipeline
    from turnetl.index.selection import Selection
    from turnetl.json_output.search import search_output
    from turnetl.model import GroupId
    from turnetl.report import search_hits as view
    from turnetl.report.index import unread_message

    selection = Selection(
        groups=tuple(GroupId(group) for group in groups), since=since, until=until
    )
    with console.show_progress(as_json=common.json) as progress:
        result = console.run_async(
            pipeline.search_turns(
                " ".join(query),
                common.settings(),
                now,
                selection=selection,
                limit=limit or _MAX_TURNS,
                nearest=nearest,
                rerank=rerank,
                progress=progress,
            )
        )
    if result.unread is not None:
        console.print_messages([unread_message(result.unread, result.caught_up_at)])
    console.print_messages(view.usage_messages(result.usage))
    table = view.table(result.hits, result.distant, Path.cwd())
    output = search_output(
        result.hits,
        result.distant,
        caught_up_at=result.caught_up_at,
        unread=result.unread,
        usage=result.usage,
    )
    console.print_result(table, output, as_json=common.json)
    return ExitCode.DONE


def formats_(*, output: OutputOptions = NO_OUTPUT) -> int:
    """List the archive formats that turnetl reads."""
    from turnetl import formats
    from turnetl.json_output.formats import formats_output
    from turnetl.report import formats as view

    known = formats.FORMATS
    console.print_result(view.table(known), formats_output(known), as_json=output.json)
    return ExitCode.DONE


def rules_(*, noise: NoiseOptions = NO_NOISE, common: CommonOptions = NO_COMMON) -> int:
    """List the noise rules, including your own, and whether they are active."""
    from turnetl import wiring
    from turnetl.json_output.rules import rules_output
    from turnetl.report import noise_rules as view

    settings = noise.applied_to(common.settings())
    rules = wiring.noise_rules(settings)
    active = wiring.filters(settings).active_rules
    table = view.rules_table(rules, active)
    console.print_result(table, rules_output(rules, active), as_json=common.json)
    return ExitCode.DONE
