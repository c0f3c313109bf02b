"""The public functions that export turns, and import those of another lake."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path as FilePath
from typing import Literal

from turnetl import pipeline
from turnetl.api.arguments import Path, check_limit, selection_of
from turnetl.base.clock import now
from turnetl.base.progress import Progress, ignore_progress
from turnetl.settings import Settings, load_settings
from turnetl.transfer.report import ExportFormat, ExportReport, ImportReport


async def export(
    output: Path,
    settings: Settings | None = None,
    *,
    format: Literal["markdown", "jsonl", "parquet", "graphml", "cypher"] = "markdown",  # noqa: A002
    query: str = "",
    groups: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    as_of: datetime | None = None,
    session: str | None = None,
    format_name: str | None = None,
    branch: str | None = None,
    tool: str | None = None,
    file: str | None = None,
    entity: str | None = None,
    label: str | None = None,
    relation: str | None = None,
    limit: int = 100,
    progress: Progress = ignore_progress,
) -> ExportReport:
    """Write the selected turns with their facts and entities to files, redacted again.

    Args:
        output: a folder, or a file for `jsonl`, `graphml` and `cypher`.
        settings: everything that is configured; None: as the command line would load it.
        format: what is written.
        query: only turns that match it, as `search` finds them; empty: all.
        groups: as of `search`, as all conditions that follow.
        since: only turns that started then or later; UTC without a time zone.
        until: only turns that started before.
        as_of: only turns that started before, with the facts that held then.
        session: only turns of the session with this id, or the beginning of one.
        format_name: only turns of archives of this format.
        branch: only turns on this git branch.
        tool: only turns in which this tool was called.
        file: only turns with a fact about this file.
        entity: only turns with a fact about the entity with this name.
        label: only turns with a fact about an entity with this label.
        relation: only turns with a fact with this relation.
        limit: at most this many turns that match the query.
        progress: called while the index is brought up to date, and after each step.

    Raises:
        BadUsage: an unknown group, a condition that no turn meets, or an output that holds files of
            others.
        Fatal: a table cannot be read, or the output cannot be written.
    """
    check_limit(limit)
    selection = selection_of(
        groups,
        since=since,
        until=until,
        as_of=as_of,
        session=session,
        format=format_name,
        branch=branch,
        tool=tool,
        file=file,
        entity=entity,
        label=label,
        relation=relation,
    )
    options = pipeline.ExportOptions(
        ExportFormat(format), FilePath(output), query, selection, limit
    )
    return await pipeline.export(settings or load_settings(), options, now, progress=progress)


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
    return pipeline.import_lake(
        FilePath(source),
        settings or load_settings(),
        machine=machine,
        dry_run=dry_run,
        progress=progress,
    )
