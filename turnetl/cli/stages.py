"""The main job, and its stages one by one."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.cli.options import (
    NO_ARCHIVE,
    NO_COMMON,
    NO_EXTRACTION,
    NO_NOISE,
    NO_SELECTION,
    ArchiveOptions,
    ArchivePaths,
    CommonOptions,
    ExtractionOptions,
    GroupNames,
    NoiseOptions,
    SelectionOptions,
)
from turnetl.clock import now
from turnetl.errors import BadUsage

if TYPE_CHECKING:  # importing it costs a second, and `--help` must not pay it
    from turnetl.ingest.report import IngestReport
    from turnetl.run_options import RunOptions
    from turnetl.settings import Settings


def backfill(
    archives: ArchivePaths,
    /,
    *,
    how: ArchiveOptions = NO_ARCHIVE,
    which: SelectionOptions = NO_SELECTION,
    asked: ExtractionOptions = NO_EXTRACTION,
    noise: NoiseOptions = NO_NOISE,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Parse, filter and ingest archives: the main job. What was done before is not done again."""
    from turnetl import pipeline as turnetl
    from turnetl.report import backfill as shown

    settings = noise.over(which.settings(common, **how.settings, **asked.settings))
    limits = which.limits(asked=asked)
    with console.show_progress(as_json=common.json) as progress:
        report = console.run_async(
            turnetl.backfill(
                archives,
                settings,
                limits,
                now,
                format_name=how.format,
                one_off=noise.one_off,
                progress=progress,
            )
        )
    console.print_messages(shown.sentences(report))
    console.print_result(
        shown.table(report, common.search()), shown.as_json(report), as_json=common.json
    )
    return shown.exit_code(report)


def parse(
    archives: ArchivePaths,
    /,
    *,
    how: ArchiveOptions = NO_ARCHIVE,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Read archives into turn tables. Those that did not change are not opened.

    Args:
        dry_run: Write nothing; say what would be read, and which groups it would go to.
    """
    from turnetl import pipeline as turnetl
    from turnetl.report import parse as shown

    settings = common.settings(**how.settings)
    with console.show_progress(as_json=common.json) as progress:
        report = turnetl.parse_archives(
            archives, settings, format_name=how.format, dry_run=dry_run, progress=progress
        )
    console.print_messages(shown.sentences(report))
    table = shown.proposed(report) if dry_run else shown.table(report)
    console.print_result(table, shown.whole_json(report), as_json=common.json)
    return shown.exit_code(report)


def filter_(
    *,
    groups: GroupNames = (),
    noise: NoiseOptions = NO_NOISE,
    explain: str | None = None,
    examples: Annotated[int | None, Parameter(validator=Number(gte=0))] = None,
    common: CommonOptions = NO_COMMON,
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
    from turnetl.report import filter as shown

    with console.show_progress(as_json=common.json) as progress:
        report = turnetl.filter_turns(settings, groups, one_off=noise.one_off, progress=progress)
    console.print_result(shown.table(report), shown.as_json(report), as_json=common.json)
    return console.DONE


def ingest(
    *,
    groups: GroupNames = (),
    which: SelectionOptions = NO_SELECTION,
    asked: ExtractionOptions = NO_EXTRACTION,
    common: CommonOptions = NO_COMMON,
    retry: Annotated[bool, Parameter(parse=False)] = False,
) -> int:
    """Ingest what is left of the groups; `retry` is given by the command of that name."""
    from turnetl import pipeline as turnetl
    from turnetl.report import ingest as shown

    settings = which.settings(common, **asked.settings)
    limits = which.limits(groups, asked=asked, retry=retry)
    with console.show_progress(as_json=common.json) as progress:
        report = console.run_async(turnetl.ingest(settings, limits, now, progress=progress))
    console.print_messages(shown.sentences(report))
    if limits.dry_run:
        return _asked(report, settings, limits, common)
    console.print_result(shown.table(report), shown.as_json(report), as_json=common.json)
    return shown.exit_code(report)


def _asked(
    report: "IngestReport", settings: "Settings", limits: "RunOptions", common: CommonOptions
) -> int:
    """Show the account, and what a model would be asked first: of one turn if no limit is said."""
    from rich.console import Group

    from turnetl import pipeline as turnetl
    from turnetl.report import ingest
    from turnetl.report import request_previews as shown

    ready = tuple(of.group for of in report.groups if turnetl.has_work(of, limits))
    if settings.extractor_name == "structural":
        console.print_messages(["no model would be asked: the extractor is `structural`"])
        ready = ()
    of_some = replace(limits, groups=ready if limits.limit else ready[:1])
    found = console.run_async(turnetl.preview_requests(settings, of_some, now)) if ready else ()
    both = Group(ingest.table(report), shown.text(found)) if ready else ingest.table(report)
    values = ingest.as_json(report) | shown.as_json(found)
    console.print_result(both, values, as_json=common.json)
    return ingest.exit_code(report)


def _explain(
    settings: "Settings", rule: str, groups: tuple[str, ...], examples: int, common: CommonOptions
) -> int:
    from turnetl import pipeline as turnetl
    from turnetl.report import noise_rules as shown

    with console.show_progress(as_json=common.json) as progress:
        found = turnetl.explain_rule(settings, rule, groups, examples=examples, progress=progress)
    console.print_result(shown.table(found, Path.cwd()), shown.as_json(found), as_json=common.json)
    return console.DONE
