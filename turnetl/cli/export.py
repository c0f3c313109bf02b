"""`turnetl export` and `turnetl import`."""

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
    CommonOptions,
    Flag,
    NonEmptyPath,
    PathOption,
    checked,
    condition,
)
from turnetl.cli.search import FilterOptions

_MAX_TURNS = 100
"""Turns that match a query and are exported by default."""
_REDACT = "Also redact personal data: addresses, names of people, accounts and machines."


@Parameter(name="*", group=Group("Filters", sort_key=1))
@dataclass(frozen=True)
class ExportFilterOptions(FilterOptions):
    """The conditions of a search; `--format` is what is written."""

    format: Annotated[str | None, condition("format"), Parameter(name="--archive-format")] = None


NO_FILTERS = ExportFilterOptions()


def export(
    *query: Annotated[str, Parameter(help="Words or a whole question; none: all turns.")],
    output: Annotated[PathOption, Parameter(name=("--output", "-o"))] = None,
    format_: Annotated[
        Literal["markdown", "jsonl", "parquet", "graphml", "cypher", "atif"],
        Parameter(name="--format"),
    ] = "markdown",
    compact: Flag = False,
    filters: ExportFilterOptions = NO_FILTERS,
    limit: Annotated[int | None, Parameter(name=("--limit", "-n"), validator=Number(gte=1))] = None,
    redact_pii: Annotated[bool | None, Parameter(help=_REDACT)] = None,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Write turns with their facts and entities to files, redacted again.

    Args:
        output: A folder, or a file for jsonl, graphml and cypher.
        format_: What is written.
        compact: With `--format parquet`: few files by year for other programs, each turn once.
        limit: With a query: at most this many turns [default: 100].
    """
    from turnetl.transfer import run_export
    from turnetl.transfer.transfer_report import ExportFormat
    from turnetl.views import export as view

    text = " ".join(query).strip()
    if output is None:
        raise BadUsage("`turnetl export` needs --output, a folder or a file")
    if limit is not None and not text:
        raise BadUsage("`--limit` needs a query: without one, all selected turns are exported")
    if compact and format_ != "parquet":
        raise BadUsage("`--compact` needs `--format parquet`")
    options = run_export.ExportOptions(
        format=ExportFormat.COMPACT if compact else ExportFormat(format_),
        output=output.expanduser(),
        query=text,
        selection=checked(filters, format="archive-format"),
        limit=limit or _MAX_TURNS,
    )
    settings = common.settings(redact_pii=redact_pii)
    report = common.executed(run_export.export, settings, options, now)
    console.print_messages(view.messages(report))
    console.print_result(view.view(report), report, as_json=common.json)
    return ExitCode.DONE


def import_(
    source: Annotated[NonEmptyPath, Parameter(name="LAKE")],
    /,
    *,
    machine: str | None = None,
    redact_pii: Annotated[bool | None, Parameter(help=_REDACT)] = None,
    dry_run: Flag = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Add the turns of another machine's lake, or of a Parquet export, to the lake.

    Args:
        source: Folder of the other lake or of the export. It is only read.
        machine: Name of the other machine [default: that of the export].
        dry_run: Write nothing; print what would be added.
    """
    from turnetl.transfer.lake_import import import_folder
    from turnetl.views import export as view

    settings = common.settings(redact_pii=redact_pii)
    with console.show_progress(as_json=common.json) as progress:
        report = import_folder(
            source.expanduser(), settings, machine=machine, dry_run=dry_run, progress=progress
        )
    console.print_messages(view.import_messages(report))
    console.print_result(view.import_view(report), report, as_json=common.json)
    return view.import_exit_code(report)
