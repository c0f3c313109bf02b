"""Import: the turns of another machine's lake, added to the lake of the settings."""

from pathlib import Path

from turnetl import wiring
from turnetl.base.errors import BadUsage
from turnetl.base.object_url import path_text
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.lake import is_object
from turnetl.settings import Settings
from turnetl.transfer.lake_import import import_lake as import_into
from turnetl.transfer.transfer_report import ImportReport


def import_lake(
    source: Path,
    settings: Settings,
    *,
    machine: str | None = None,
    dry_run: bool = False,
    progress: Progress = ignore_progress,
) -> ImportReport:
    """Add the turns of another lake, or of a Parquet export."""
    if is_object(source):
        raise BadUsage(
            f"`{path_text(source)}` is a URL, and lakes are imported from folders: copy it to this "
            "machine and name the copy"
        )
    return import_into(
        wiring.lake_in(source),
        wiring.lake(settings),
        machine,
        redactor=lambda: wiring.redactor(settings, stores=not dry_run),
        dry_run=dry_run,
        progress=lambda done, total: progress(ProgressUpdate("import", "archives", done, total)),
    )
