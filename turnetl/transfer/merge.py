"""What an import makes of the rows that an earlier import of the same archive added."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import polars as pl

from turnetl import ids
from turnetl.lake import ArchiveMetadata, Lake
from turnetl.redact import Redactor
from turnetl.transfer.redacted_paths import local_path
from turnetl.transfer.report import ImportOutcome
from turnetl.transfer.turn_rows import redacted_tables

_encode = msgspec.json.Encoder().encode


def missing_rows(
    rows: pl.DataFrame,
    metadata: ArchiveMetadata,
    path: Path,
    stored: ArchiveMetadata | None,
    lake: Lake,
) -> pl.DataFrame:
    """Return the rows of an earlier import that these rows lack: it was of a larger selection.

    Another format, or version of its reader, gives the same turns other ids: no row is missing.

    Args:
        rows: of the turns file of the other lake.
        metadata: of that file.
        path: of the imported file.
        stored: metadata of the imported file; None: it has none, or does not exist.
        lake: has the imported file.

    Raises:
        TableUnusable: the file of the earlier import is damaged.
    """
    if not path.exists():
        return rows.clear()
    before = lake.read_turns_file(path)
    if stored is not None and _reader(stored) != _reader(metadata):
        return rows.clear()
    return before.filter(~pl.col("turn_id").is_in(rows["turn_id"].implode()))


def redacted_together(
    rows: pl.DataFrame, missing: pl.DataFrame, archive: str, redactor: Redactor
) -> tuple[pl.DataFrame, int]:
    """Return rows and their `missing_rows` without secrets, and the number of redactions.

    A secret that one of them reveals is redacted in all of them.

    Args:
        rows: as the other lake has them.
        missing: as an earlier import left them, which may have had other rules.
        archive: of the rows, redacted.
        redactor: removes secrets.
    """
    # Not after its machine, whose name stays: its redaction would count again in every import.
    without_machine = missing.with_columns(archive=pl.lit(local_path(archive)))
    return redacted_tables([pl.concat([rows, without_machine])], redactor)[0]


def rows_digest(rows: pl.DataFrame) -> str:
    """Return a digest of all columns: a new reader can change others than the texts."""
    return ids.digest(*map(_encode, rows.iter_rows()))


def outcome_of(before: Sequence[ArchiveMetadata], new: ArchiveMetadata) -> ImportOutcome:
    """Return what is done, given the metadata of the earlier files of the same archive."""
    if not before:
        return ImportOutcome.NEW
    same = all(_content(one) == _content(new) for one in before)
    return ImportOutcome.UNCHANGED if same else ImportOutcome.CHANGED


def _content(metadata: ArchiveMetadata) -> tuple[object, ...]:
    return (
        *_reader(metadata),
        metadata.redactor_version,
        metadata.sha256,
        metadata.group,
        metadata.archive,
        metadata.cwd,
        metadata.subagent_usage,
    )


def _reader(metadata: ArchiveMetadata) -> tuple[str, int]:
    return metadata.format, metadata.reader_version
