"""Parquet: turns files as a lake has them, which `turnetl import` reads, with entities and facts.

turns/<group>/<digest of the archive's path>.parquet   entities.parquet   facts.parquet
"""

import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import polars as pl

from turnetl import ids
from turnetl.batched import batched
from turnetl.lake import ArchiveMetadata, Lake, TurnFile
from turnetl.lake.paths import TURNS
from turnetl.model import Entity, Fact, GroupId
from turnetl.redact import Redactor
from turnetl.transfer.content import ExportContent
from turnetl.transfer.redacted_paths import (
    metadata_paths,
    redacted_machine,
    redacted_paths,
    with_paths,
)
from turnetl.transfer.redacted_usage import redacted_usage
from turnetl.transfer.turn_rows import BATCH_FILES, redacted_tables

_TIME = pl.Datetime("us", "UTC")
ENTITY_COLUMNS = {
    "uuid": pl.String,
    "group_id": pl.String,
    "name": pl.String,
    "labels": pl.List(pl.String),
    "summary": pl.String,
    "created_at": _TIME,
    "attributes": pl.String,
}
"""Columns of `entities.parquet`; attributes are a JSON object."""
FACT_COLUMNS = {
    "uuid": pl.String,
    "group_id": pl.String,
    "source": pl.String,
    "target": pl.String,
    "relation": pl.String,
    "text": pl.String,
    "turns": pl.List(pl.String),
    "created_at": _TIME,
    "valid_at": _TIME,
    "invalid_at": _TIME,
    "expired_at": _TIME,
    "reference_time": _TIME,
    "attributes": pl.String,
}
"""Columns of `facts.parquet`; source and target are uuids of entities."""


def to_parquet(
    lake: Lake,
    groups: Collection[GroupId],
    condition: pl.Expr | None,
    content: ExportContent,
    redactor: Redactor,
) -> tuple[dict[str, bytes], int, int]:
    """Return the files by path, the number of turns, and the number of redactions in turns.

    Args:
        lake: whose turns files are exported.
        groups: of these turns files.
        condition: which rows of `schema.TURNS` are exported; a file without any is left out. None:
            all rows, and files without rows too.
        content: entities and facts, redacted.
        redactor: removes secrets from the turns.

    Raises:
        Fatal: a turns file is damaged, or has another schema version.
    """
    files = {
        "entities.parquet": _encoded([_values(one) for one in content.entities], ENTITY_COLUMNS),
        "facts.parquet": _encoded([_values(one) for one in content.facts], FACT_COLUMNS),
    }
    turns = redactions = 0
    for batch in batched(lake.turn_files_of(groups), BATCH_FILES):
        selected = _selected(lake, batch, condition)
        clean = redacted_tables([one.rows for one in selected], redactor)
        paths = redacted_paths(metadata_paths(one.file.metadata for one in selected), redactor)
        for one, (redacted, found) in zip(selected, clean, strict=True):
            metadata = _redacted(one.file.metadata, paths, redactor)
            if found or not one.is_whole:
                metadata = _changed(metadata, redacted)
            archive_rows = redacted.with_columns(archive=pl.lit(metadata.archive))
            path = f"{TURNS}/{metadata.group}/{one.file.path.name}"
            files[path] = lake.turns_bytes(archive_rows, metadata)
            turns, redactions = turns + redacted.height, redactions + found
    return files, turns, redactions


@dataclass(frozen=True, slots=True)
class _SelectedRows:
    """The rows of a turns file that are exported."""

    file: TurnFile
    rows: pl.DataFrame
    is_whole: bool
    """Whether these are all rows of the file."""


def _selected(
    lake: Lake, files: Sequence[TurnFile], condition: pl.Expr | None
) -> list[_SelectedRows]:
    selected = []
    for file in files:
        rows = lake.read_turns_file(file.path)
        some = rows if condition is None else rows.filter(condition)
        # Its metadata name an archive and a folder, which the condition does not select.
        if condition is None or not some.is_empty():
            selected.append(_SelectedRows(file, some, is_whole=some.height == rows.height))
    return selected


def _redacted(
    metadata: ArchiveMetadata, paths: Mapping[str, str], redactor: Redactor
) -> ArchiveMetadata:
    return replace(
        with_paths(metadata, paths),
        machine=redacted_machine(metadata.machine, redactor),
        subagent_usage=redacted_usage(metadata.subagent_usage, redactor),
    )


def _changed(metadata: ArchiveMetadata, rows: pl.DataFrame) -> ArchiveMetadata:
    """Return the metadata of rows that are not those of the archive's content any more."""
    return replace(
        metadata,
        sha256=ids.digest(*rows["content_hash"]),
        counts={**metadata.counts, "turns": rows.height},
        retained_turns=0,
        retained_digest="",
    )


def _values(item: Entity | Fact) -> Mapping[str, object]:
    columns = ENTITY_COLUMNS if isinstance(item, Entity) else FACT_COLUMNS
    values = {name: getattr(item, name) for name in columns}
    lists = {name: list(value) for name, value in values.items() if isinstance(value, tuple)}
    return values | lists | {"attributes": msgspec.json.encode(dict(item.attributes)).decode()}


def _encoded(rows: list[Mapping[str, object]], columns: Mapping[str, Any]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(rows, schema=dict(columns)).write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
