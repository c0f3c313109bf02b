"""Lakes for imports."""

from collections.abc import Sequence
from pathlib import Path

from tests.cli.archives import conversation, write_archive
from tests.cli.provider_setup import SESSION_START
from tests.fakes.redactors import NoRedactor
from turnetl.lake import Lake
from turnetl.parsing import parse_archives
from turnetl.transfer.lake_import import import_lake
from turnetl.transfer.transfer_report import ImportReport


def lake_of(
    folder: Path, *sessions: str, prompts: Sequence[str] = ("Add a cart", "Test it")
) -> Lake:
    """Return a lake with the turns of these sessions of the project `shop`."""
    lake = Lake(folder / "lake")
    paths = [
        write_archive(
            folder / "archives" / f"{session}.jsonl",
            conversation(*prompts, session=session, at=SESSION_START),
        )
        for session in sessions
    ]
    parse_archives(paths, lake, redactor=NoRedactor())
    return lake


def contents(lake: Lake) -> dict[str, bytes]:
    """Return the turns files by name."""
    return {path.name: path.read_bytes() for path in lake.turn_paths()}


def imported(source: Lake, lake: Lake, machine: str | None = "laptop") -> ImportReport:
    """Import with a redactor that redacts nothing."""
    return import_lake(source, lake, machine, redactor=NoRedactor)
