"""Turns that an archive held once and no longer holds: a log that was rotated or cut short.

They stay in its turns file, as the turns of a deleted archive do.
"""

from dataclasses import replace

import polars as pl
import pyarrow as pa

from turnetl.base import ids, schema
from turnetl.base.errors import TableUnusable
from turnetl.lake import ArchiveMetadata, Lake, arrow_schema
from turnetl.lake.encoding import ArrowRows
from turnetl.parsing.jobs import StoredArchive


def rows_to_retain(
    rows: ArrowRows, metadata: ArchiveMetadata, stored: StoredArchive, lake: Lake
) -> pl.DataFrame | None:
    """Return the stored turns of an archive that its new rows lack; None if there are none.

    A turn is recognised by its id. Another group, format or version of the format's reader gives
    the same turns other ids; then nothing is retained.

    Args:
        rows: the archive's turns, as it is now.
        metadata: the metadata of these rows.
        stored: the turns files of the archive.
        lake: the lake of these files.

    Raises:
        TableUnusable: the newest turns file cannot be read, and may hold such turns; or it is that
            of another archive.
    """
    previous = stored.metadata
    if previous is None and not stored.files:
        return None
    if stored.is_misplaced:
        raise TableUnusable(stored.files[-1], "it holds the turns of another archive")
    if previous is not None and _identity(previous) != _identity(metadata):
        return None
    try:
        before = lake.read_turns_file(stored.files[-1])
    except TableUnusable:
        if previous and previous.sha256 == metadata.sha256 and not previous.retained_turns:
            return None
        raise
    ids_now = pl.Series(rows["turn_id"], dtype=pl.String)
    retained = before.filter(~pl.col("turn_id").is_in(ids_now.implode()))
    return None if retained.is_empty() else retained


def with_retained(
    rows: ArrowRows, metadata: ArchiveMetadata, retained: pl.DataFrame | None
) -> tuple[ArrowRows, ArchiveMetadata]:
    """Return the rows with the retained ones after them, and the metadata that counts them."""
    if retained is None:
        return rows, metadata
    # Stored rows may have the path as another redactor left it.
    retained = retained.with_columns(archive=pl.lit(metadata.archive))
    table = retained.to_arrow().cast(arrow_schema(schema.TURNS))
    parsed = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
    return pa.concat_tables([parsed, table]).combine_chunks(), replace(
        metadata, retained_turns=retained.height, retained_digest=ids.digest(*retained["turn_id"])
    )


def _identity(metadata: ArchiveMetadata) -> tuple[object, ...]:
    """Return what the ids of an archive's turns depend on, beside the archive."""
    return metadata.group, metadata.format, metadata.reader_version
