"""The `turnetl` command: what can be said to it. How it answers stands in `turnetl.console`.

Nothing heavy is imported before a command is chosen.
"""

import sys
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Group, Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.cli.options import (
    COMMON,
    HOW,
    JSON,
    NOISE,
    WHICH,
    Archives,
    Common,
    Groups,
    How,
    Noise,
    Quiet,
    Which,
)
from turnetl.clock import now, utc
from turnetl.errors import BadUsage

if TYPE_CHECKING:  # importing it costs a second, and `--help` must not pay it
    from turnetl.settings import Settings

app = App(
    name="turnetl",
    help="Years of coding-agent archives into a temporal knowledge graph.",
    version=console.version,
    result_action="return_value",
    suppress_keyboard_interrupt=False,  # we say what stays
    help_format="plaintext",  # markdown costs a tenth of a second
)
_main = Group("The main job", sort_key=0)
_stages = Group("Stage by stage", sort_key=1)
_look = Group("Looking", sort_key=2)


@app.command(group=_main)
def backfill(
    archives: Archives,
    /,
    *,
    how: How = HOW,
    which: Which = WHICH,
    noise: Noise = NOISE,
    common: Common = COMMON,
) -> int:
    """Parse, filter and ingest archives: the main job. What was done before is not done again."""
    from turnetl import app as turnetl
    from turnetl.report import backfill as shown

    settings, limits = noise.over(which.settings(common, **how.settings)), which.limits()
    with console.progress(as_json=common.json) as progress:
        report = console.finished(
            turnetl.backfill(
                archives,
                settings,
                limits,
                now,
                format_name=how.format,
                by_hand=noise.by_hand,
                progress=progress,
            )
        )
    console.say(shown.sentences(report))
    console.out(shown.table(report, common.search()), shown.as_json(report), as_json=common.json)
    return shown.exit_code(report)


@app.command(group=_stages)
def parse(
    archives: Archives,
    /,
    *,
    how: How = HOW,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    common: Common = COMMON,
) -> int:
    """Read archives into turn tables. Those that did not change are not opened.

    Args:
        dry_run: Write nothing; say what would be read, and which groups it would go to.
    """
    from turnetl import app as turnetl
    from turnetl.report import parsed as shown

    settings = common.settings(**how.settings)
    with console.progress(as_json=common.json) as progress:
        report = turnetl.parse_archives(
            archives, settings, format_name=how.format, dry_run=dry_run, progress=progress
        )
    console.say(shown.sentences(report))
    table = shown.proposed(report) if dry_run else shown.table(report)
    console.out(table, shown.whole_json(report), as_json=common.json)
    return shown.exit_code(report)


@app.command(name="filter", group=_stages)
def filter_(
    *,
    groups: Groups = (),
    noise: Noise = NOISE,
    explain: str | None = None,
    examples: Annotated[int | None, Parameter(validator=Number(gte=0))] = None,
    common: Common = COMMON,
) -> int:
    """Mark the noise in the turn tables and render the rest as episodes.

    Args:
        explain: Write nothing; say what this rule marks by itself, on or off, and show some of it.
        examples: With --explain: at most so many turns [default: 5].
    """
    from turnetl import app as turnetl

    settings = noise.over(common.settings())
    if explain is not None:
        return _explain(settings, explain, groups, 5 if examples is None else examples, common)
    if examples is not None:
        raise BadUsage("--examples goes with --explain RULE; `turnetl rules` lists the rules")
    from turnetl.report import filtered as shown

    with console.progress(as_json=common.json) as progress:
        report = turnetl.filter_turns(settings, groups, by_hand=noise.by_hand, progress=progress)
    console.out(shown.table(report), shown.as_json(report), as_json=common.json)
    return console.DONE


def _explain(
    settings: "Settings", rule: str, groups: tuple[str, ...], examples: int, common: Common
) -> int:
    from turnetl import app as turnetl
    from turnetl.report import explained as shown

    with console.progress(as_json=common.json) as progress:
        found = turnetl.explain(settings, rule, groups, examples=examples, progress=progress)
    console.out(shown.table(found, Path.cwd()), shown.as_json(found), as_json=common.json)
    return console.DONE


def _ingest(
    *,
    groups: Groups = (),
    which: Which = WHICH,
    common: Common = COMMON,
    retry: Annotated[bool, Parameter(parse=False)] = False,
) -> int:
    from turnetl import app as turnetl
    from turnetl.report import ingested as shown

    settings, limits = which.settings(common), which.limits(groups, retry=retry)
    with console.progress(as_json=common.json) as progress:
        report = console.finished(turnetl.ingest(settings, limits, now, progress=progress))
    console.say(shown.sentences(report))
    console.out(shown.table(report), shown.as_json(report), as_json=common.json)
    return shown.exit_code(report)


app.command(
    _ingest,
    name="ingest",
    group=_stages,
    help="Bring episodes into the graph, oldest first, one transaction a turn.",
)
app.command(
    partial(_ingest, retry=True),
    name="retry",
    group=_stages,
    help="Ingest, and try the quarantined turns again.",
)


@app.command(group=_look)
def status(*, groups: Groups = (), quiet: Quiet = None, common: Common = COMMON) -> int:
    """Say per group what is in the graph, what waits, and why."""
    from turnetl import app as turnetl
    from turnetl.report import standing as shown

    settings = common.settings(quiet_minutes=quiet)
    report = console.finished(turnetl.status(settings, turnetl.Limits(groups), now))
    console.say(sentence for of in report.groups for sentence in shown.sentences(of))
    console.out(shown.table(report), shown.all_json(report), as_json=common.json)
    return console.DONE


@app.command(name="formats", group=_look)
def formats_(
    *, as_json: Annotated[bool, Parameter(name="--json", negative="", help=JSON)] = False
) -> int:
    """List the kinds of archives that turnetl reads."""
    from turnetl import formats
    from turnetl.report import known as shown

    console.out(shown.table(formats.KNOWN), shown.as_json(formats.KNOWN), as_json=as_json)
    return console.DONE


@app.command(name="rules", group=_look)
def rules_(*, noise: Noise = NOISE, common: Common = COMMON) -> int:
    """List the noise rules, your own among them, and whether they mark turns today."""
    from turnetl import opening
    from turnetl.report import explained as shown

    settings = noise.over(common.settings())
    known = opening.rules(settings)
    on = opening.filters(settings).on
    console.out(shown.rules_table(known, on), shown.rules_json(known, on), as_json=common.json)
    return console.DONE


@app.command(group=_look)
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
    from turnetl import app as turnetl
    from turnetl.report import hits as shown

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


def main() -> None:
    """Run the command line, with the exit codes of the README."""
    sys.exit(console.run(app, sys.argv[1:]))
