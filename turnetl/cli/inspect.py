"""What there is: in the graph, in the lake, among formats and rules. Nothing here writes."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.cli.options import COMMON, JSON, NOISE, Common, Groups, Noise, Quiet
from turnetl.clock import now, utc


def status(*, groups: Groups = (), quiet: Quiet = None, common: Common = COMMON) -> int:
    """Say per group what is in the graph, what waits, and why."""
    from turnetl import pipeline as turnetl
    from turnetl.report import status as shown

    settings = common.settings(quiet_minutes=quiet)
    report = console.finished(turnetl.status(settings, turnetl.RunOptions(groups), now))
    console.say(shown.sentences(report))
    console.out(shown.table(report), shown.all_json(report), as_json=common.json)
    return console.DONE


def formats_(
    *, as_json: Annotated[bool, Parameter(name="--json", negative="", help=JSON)] = False
) -> int:
    """List the kinds of archives that turnetl reads."""
    from turnetl import formats
    from turnetl.report import formats as shown

    console.out(shown.table(formats.KNOWN), shown.as_json(formats.KNOWN), as_json=as_json)
    return console.DONE


def rules_(*, noise: Noise = NOISE, common: Common = COMMON) -> int:
    """List the noise rules, your own among them, and whether they mark turns today."""
    from turnetl import wiring
    from turnetl.report import rule_examples as shown

    settings = noise.over(common.settings())
    known = wiring.rules(settings)
    on = wiring.filters(settings).on
    console.out(shown.rules_table(known, on), shown.rules_json(known, on), as_json=common.json)
    return console.DONE


def search(
    query: str,
    /,
    *,
    groups: Groups = (),
    since: datetime | None = None,
    until: datetime | None = None,
    limit: Annotated[int, Parameter(name=("--limit", "-n"), validator=Number(gte=1))] = 10,
    common: Common = COMMON,
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

    found = console.finished(
        turnetl.find(
            query,
            common.settings(),
            groups=groups,
            since=utc(since),
            until=utc(until),
            limit=limit,
        )
    )
    console.out(shown.table(found, Path.cwd()), shown.as_json(found), as_json=common.json)
    return console.DONE
