"""The main command and its stages: backfill, sources, parse, filter, ingest, retry."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.confirmation import Yes
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
    Flag,
    GroupNames,
    NoiseOptions,
    OptionalArchivePaths,
    SelectionOptions,
    ShardOption,
    read_shard,
)

if TYPE_CHECKING:  # importing these takes a second, which `--help` must not spend
    from turnetl.pipeline.run_options import RunOptions
    from turnetl.settings import Settings

_EXAMPLES = 5


def backfill(
    archives: OptionalArchivePaths = (),
    /,
    *,
    archive: ArchiveOptions = NO_ARCHIVE,
    selection: SelectionOptions = NO_SELECTION,
    extraction: ExtractionOptions = NO_EXTRACTION,
    noise: NoiseOptions = NO_NOISE,
    shard: ShardOption = None,
    yes: Yes = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Read what agents archived into the graph. Repeat it at any time.

    Without archives, it reads those of this machine's agents, after showing them.

    Args:
        yes: Read the archives of this machine's agents without asking, as a script does.
    """
    if yes and archives:
        raise BadUsage("`--yes` is for a backfill without ARCHIVES: leave one of the two out")
    from turnetl import pipeline
    from turnetl.views import backfill as view
    from turnetl.views.ingest import previews

    settings = selection.settings(common, **archive.settings, **extraction.settings)
    options = selection.run_options(extraction=extraction, shard=shard)
    if not (paths := archives or archives_of_agents(settings, common, yes=yes)):
        return ExitCode.DONE
    report = common.executed(
        pipeline.backfill,
        paths,
        noise.applied_to(settings),
        options,
        now,
        format_name=archive.format,
        one_off=noise.one_off,
        executor=pipeline.InProcess(console.interruptible),
    )
    console.print_messages(view.messages(report) + _preview_messages(settings, options))
    queries: Sequence[str] = ()
    # Imports the search, of which a run without new turns has no use.
    if not common.json and (committed := report.ingested.committed):
        queries = console.run_async(pipeline.sample_queries(settings, now, committed=committed))
        console.run_async(pipeline.name_better_embedder(settings))
    shown = (
        *view.view(report),
        *previews(report.ingested.requests),
        *view.examples(report, common.next_command, queries),
    )
    console.print_result(shown, report, as_json=common.json)
    return view.exit_code(report)


def parse(
    archives: ArchivePaths,
    /,
    *,
    archive: ArchiveOptions = NO_ARCHIVE,
    shard: ShardOption = None,
    dry_run: Flag = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Parse archives into turn tables. Unchanged archives are not opened.

    Args:
        dry_run: Write nothing; print which archives would be read, and their groups.
    """
    from turnetl import pipeline
    from turnetl.parsing import ParsedFiles
    from turnetl.views import parse as view

    settings, part = common.settings(**archive.settings), read_shard(shard)
    with console.show_progress(as_json=common.json) as progress:
        report = pipeline.parse_archives(
            archives,
            settings,
            format_name=archive.format,
            dry_run=dry_run,
            shard=part,
            progress=progress,
        )
    console.print_messages(view.messages(report))
    console.print_result(view.view(report), ParsedFiles(report), as_json=common.json)
    return view.exit_code(report)


def filter_(
    *,
    groups: GroupNames = (),
    noise: NoiseOptions = NO_NOISE,
    shard: ShardOption = None,
    explain: str | None = None,
    examples: Annotated[int | None, Parameter(validator=Number(gte=0))] = None,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Mark noise in the turn tables and render the other turns as episodes.

    Args:
        explain: Write nothing; print which turns this rule matches by itself, with examples.
        examples: Print at most this many examples with --explain [default: 5].
    """
    from turnetl import pipeline

    settings, part = noise.applied_to(common.settings()), read_shard(shard)
    if explain is not None:
        count = _EXAMPLES if examples is None else examples
        return _explain(settings, explain, groups, count, common)
    if examples is not None:
        raise BadUsage("--examples needs --explain RULE; `turnetl rules` lists the rules")
    from turnetl.views import filter as view

    with console.show_progress(as_json=common.json) as progress:
        report = pipeline.filter_turns(
            settings, groups, one_off=noise.one_off, shard=part, progress=progress
        )
    console.print_result(view.view(report), report, as_json=common.json)
    return ExitCode.DONE


def ingest(
    *,
    groups: GroupNames = (),
    selection: SelectionOptions = NO_SELECTION,
    extraction: ExtractionOptions = NO_EXTRACTION,
    shard: ShardOption = None,
    common: CommonOptions = NO_COMMON,
    retry: Annotated[bool, Parameter(parse=False)] = False,
) -> int:
    """Ingest episodes into the graph, oldest first, one transaction per turn."""
    from turnetl import pipeline
    from turnetl.ingestion.ingest_report import exit_code_of
    from turnetl.views import ingest as view

    settings = selection.settings(common, **extraction.settings)
    options = selection.run_options(groups, extraction=extraction, shard=shard, retry=retry)
    report = common.executed(pipeline.ingest, settings, options, now)
    console.print_messages(view.messages(report) + _preview_messages(settings, options))
    shown = (*view.view(report), *view.previews(report.requests))
    console.print_result(shown, report, as_json=common.json)
    return exit_code_of(report)


retry = partial(ingest, retry=True)


def _preview_messages(settings: "Settings", options: "RunOptions") -> list[str]:
    if options.dry_run and settings.extractor_name == "structural":
        return ["no model would be used: the extractor is `structural`"]
    return []


def _explain(
    settings: "Settings", rule: str, groups: tuple[str, ...], examples: int, common: CommonOptions
) -> int:
    from turnetl import pipeline
    from turnetl.views import filter as view

    with console.show_progress(as_json=common.json) as progress:
        explanation = pipeline.explain_rule(
            settings, rule, groups, examples=examples, progress=progress
        )
    console.print_result(view.rule_view(explanation), explanation, as_json=common.json)
    return ExitCode.DONE


def sources(*, common: CommonOptions = NO_COMMON) -> int:
    """Find the archives of this machine's agents: what is new, and what will be deleted when."""
    from turnetl import pipeline, wiring
    from turnetl.views import sources as view

    with console.show_progress(as_json=common.json) as progress:
        report = pipeline.sources(common.settings(), wiring.this_machine(), now, progress=progress)
    console.print_messages(view.messages(report))
    table = view.view_and_command(report, Path.home(), common.next_command)
    console.print_result(table, report, as_json=common.json)
    return ExitCode.DONE


def archives_of_agents(settings: "Settings", common: CommonOptions, *, yes: bool) -> Sequence[str]:
    """Return the archives of this machine's agents after showing them; none after a no.

    Nobody is asked with `yes`, or if there is nothing new.

    Raises:
        BadUsage: there are none, or nobody can be asked.
    """
    from turnetl import pipeline, wiring
    from turnetl.views import sources as view

    with console.show_progress(as_json=common.json) as progress:
        report = pipeline.sources(settings, wiring.this_machine(), now, progress=progress)
    console.print_messages(view.messages(report))
    if not any(source.archives for source in report.sources):
        raise BadUsage(view.NO_ARCHIVES)
    if not common.json:
        console.print_view(view.proposal(report))
    if yes or not report.pending:
        return report.all_paths
    if common.json or not console.is_interactive():
        raise BadUsage(view.unconfirmed(report, common.next_command))
    if console.confirm(view.question(report)):
        return report.all_paths
    console.print_messages([view.NOTHING_READ])
    return ()
