"""The public functions that export turns, and import those of another lake."""

from pathlib import Path as FilePath
from typing import Literal, Unpack

from turnetl.api.arguments import Conditions, Path, check_limit, selection_of
from turnetl.base.clock import now
from turnetl.base.progress import Progress, ignore_progress
from turnetl.settings import Settings, load_settings
from turnetl.transfer import lake_import, run_export
from turnetl.transfer.run_export import ExportOptions
from turnetl.transfer.sql import SqlResult, read_tables
from turnetl.transfer.transfer_report import ExportFormat, ExportReport, ImportReport


async def export(
    output: Path,
    settings: Settings | None = None,
    *,
    format: Literal[  # noqa: A002
        "markdown", "jsonl", "parquet", "compact", "graphml", "cypher", "atif"
    ] = "markdown",
    query: str = "",
    limit: int = 100,
    progress: Progress = ignore_progress,
    **conditions: Unpack[Conditions],
) -> ExportReport:
    """Write the selected turns with their facts and entities to files, redacted again.

    Args:
        output: a folder, or a file for `jsonl`, `graphml` and `cypher`.
        settings: everything that is configured; None: as the command line would load it.
        format: what is written.
        query: only turns that match it, as `search` finds them; empty: all.
        limit: at most this many turns that match the query.
        progress: called while the index is brought up to date, and after each step.
        conditions: as of `search`.

    Raises:
        BadUsage: an unknown group, a condition that no turn meets, or an output that holds files of
            others.
        Fatal: a table cannot be read, or the output cannot be written.
    """
    check_limit(limit)
    selection = selection_of(**conditions)
    options = ExportOptions(ExportFormat(format), FilePath(output), query, selection, limit)
    return await run_export.export(settings or load_settings(), options, now, progress=progress)


async def sql(query: str, settings: Settings | None = None) -> SqlResult:
    """Query the views of `turnetl sql` with DuckDB. Nothing can be changed.

    Args:
        query: SQL; of several statements the last one's result.
        settings: everything that is configured; None: as the command line would load it.

    Raises:
        BadUsage: the lake holds no turns, DuckDB is not installed, or the query fails.
        Fatal: a table cannot be read.
    """
    tables = await read_tables(settings or load_settings(), now)
    with tables.opened() as session:
        return session.result(query)


def import_lake(
    source: Path,
    settings: Settings | None = None,
    *,
    machine: str | None = None,
    dry_run: bool = False,
    progress: Progress = ignore_progress,
) -> ImportReport:
    """Add the turns of another machine's lake, or of a Parquet export, to the lake.

    Args:
        source: folder of the other lake or of the export; it is only read.
        settings: everything that is configured; None: as the command line would load it.
        machine: the name of the other machine; None: as the export says.
        dry_run: write nothing.
        progress: called after each turns file.

    Raises:
        BadUsage: there is no lake, no name of the machine, or it is the same lake.
        Fatal: either lake has another schema version, or the lake cannot be written.
    """
    return lake_import.import_folder(
        FilePath(source),
        settings or load_settings(),
        machine=machine,
        dry_run=dry_run,
        progress=progress,
    )
