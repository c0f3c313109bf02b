"""The main job, and its stages one by one."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.cli.options import (
    ASKED,
    COMMON,
    HOW,
    NOISE,
    WHICH,
    Archives,
    Asked,
    Common,
    Groups,
    How,
    Noise,
    Which,
)
from turnetl.clock import now
from turnetl.errors import BadUsage

if TYPE_CHECKING:  # importing it costs a second, and `--help` must not pay it
    from turnetl.ingest.report import IngestReport
    from turnetl.run_options import RunOptions
    from turnetl.settings import Settings


def backfill(
    archives: Archives,
    /,
    *,
    how: How = HOW,
    which: Which = WHICH,
    asked: Asked = ASKED,
    noise: Noise = NOISE,
    common: Common = COMMON,
) -> int:
    """Parse, filter and ingest archives: the main job. What was done before is not done again."""
    from turnetl import pipeline as turnetl
    from turnetl.report import backfill as shown

    settings = noise.over(which.settings(common, **how.settings, **asked.settings))
    limits = which.limits(asked=asked)
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
    from turnetl import pipeline as turnetl
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
    from turnetl import pipeline as turnetl

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


def ingest(
    *,
    groups: Groups = (),
    which: Which = WHICH,
    asked: Asked = ASKED,
    common: Common = COMMON,
    retry: Annotated[bool, Parameter(parse=False)] = False,
) -> int:
    """Ingest what is left of the groups; `retry` is given by the command of that name."""
    from turnetl import pipeline as turnetl
    from turnetl.report import ingested as shown

    settings = which.settings(common, **asked.settings)
    limits = which.limits(groups, asked=asked, retry=retry)
    with console.progress(as_json=common.json) as progress:
        report = console.finished(turnetl.ingest(settings, limits, now, progress=progress))
    console.say(shown.sentences(report))
    if limits.dry_run:
        return _asked(report, settings, limits, common)
    console.out(shown.table(report), shown.as_json(report), as_json=common.json)
    return shown.exit_code(report)


def _asked(
    report: "IngestReport", settings: "Settings", limits: "RunOptions", common: Common
) -> int:
    """Show the account, and what a model would be asked first: of one turn if no limit is said."""
    from rich.console import Group

    from turnetl import pipeline as turnetl
    from turnetl.report import ingested
    from turnetl.report import requests as shown

    ready = tuple(of.group for of in report.groups if turnetl.has_work(of, limits))
    if settings.extractor_name == "structural":
        console.say(["no model would be asked: the extractor is `structural`"])
        ready = ()
    of_some = replace(limits, groups=ready if limits.limit else ready[:1])
    found = console.finished(turnetl.requests(settings, of_some, now)) if ready else ()
    both = Group(ingested.table(report), shown.text(found)) if ready else ingested.table(report)
    values = ingested.as_json(report) | shown.as_json(found)
    console.out(both, values, as_json=common.json)
    return ingested.exit_code(report)


def _explain(
    settings: "Settings", rule: str, groups: tuple[str, ...], examples: int, common: Common
) -> int:
    from turnetl import pipeline as turnetl
    from turnetl.report import rule_examples as shown

    with console.progress(as_json=common.json) as progress:
        found = turnetl.explain(settings, rule, groups, examples=examples, progress=progress)
    console.out(shown.table(found, Path.cwd()), shown.as_json(found), as_json=common.json)
    return console.DONE
