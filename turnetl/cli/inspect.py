"""What there is: in the graph, in the lake, among formats and rules. Nothing here writes."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.cli.options import (
    JSON_HELP,
    NO_COMMON,
    NO_NOISE,
    CommonOptions,
    GroupNames,
    NoiseOptions,
    QuietMinutes,
)
from turnetl.clock import as_utc, now


def status(
    *, groups: GroupNames = (), quiet: QuietMinutes = None, common: CommonOptions = NO_COMMON
) -> int:
    """Say per group what is in the graph, what waits, and why."""
    from turnetl import pipeline as turnetl
    from turnetl.report import status as shown

    settings = common.settings(quiet_minutes=quiet)
    report = console.run_async(turnetl.status(settings, turnetl.RunOptions(groups), now))
    console.print_messages(shown.sentences(report))
    console.print_result(shown.table(report), shown.all_json(report), as_json=common.json)
    return console.DONE


def formats_(
    *, as_json: Annotated[bool, Parameter(name="--json", negative="", help=JSON_HELP)] = False
) -> int:
    """List the kinds of archives that turnetl reads."""
    from turnetl import formats
    from turnetl.report import formats as shown

    console.print_result(
        shown.table(formats.FORMATS), shown.as_json(formats.FORMATS), as_json=as_json
    )
    return console.DONE


def rules_(*, noise: NoiseOptions = NO_NOISE, common: CommonOptions = NO_COMMON) -> int:
    """List the noise rules, your own among them, and whether they mark turns today."""
    from turnetl import wiring
    from turnetl.report import noise_rules as shown

    settings = noise.over(common.settings())
    known = wiring.noise_rules(settings)
    on = wiring.filters(settings).active_rules
    console.print_result(
        shown.rules_table(known, on), shown.rules_json(known, on), as_json=common.json
    )
    return console.DONE


def search(
    query: str,
    /,
    *,
    groups: GroupNames = (),
    since: datetime | None = None,
    until: datetime | None = None,
    limit: Annotated[int, Parameter(name=("--limit", "-n"), validator=Number(gte=1))] = 10,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Find the turns that answer a question, with their facts, files and lines.

    Args:
        query: words or a whole question.
        since: only turns that started at this time or later.
        until: only turns that started before this time.
        limit: at most so many turns.
    """
    from turnetl import pipeline as turnetl
    from turnetl.report import search_hits as shown

    found = console.run_async(
        turnetl.search_turns(
            query,
            common.settings(),
            groups=groups,
            since=as_utc(since),
            until=as_utc(until),
            limit=limit,
        )
    )
    console.print_result(shown.table(found, Path.cwd()), shown.as_json(found), as_json=common.json)
    return console.DONE
