"""Parquet: turns files as a lake has them, which `turnetl import` reads, with entities and facts.

turns/<group>/<digest of the archive's path>.parquet   entities.parquet   facts.parquet
"""

import io
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from turnetl import ids
from turnetl.lake import Lake
from turnetl.model import Entity, Fact, GroupId
from turnetl.redact import Redactor
from turnetl.transfer.content import ExportContent
from turnetl.transfer.turn_rows import redacted_rows

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
    condition: pl.Expr,
    content: ExportContent,
    redactor: Redactor,
) -> tuple[dict[str, bytes], int, int]:
    """Return the files by path, the number of turns, and the number of redactions in turns.

    Args:
        lake: whose turns files are exported.
        groups: of these turns files.
        condition: which rows of `schema.TURNS` are exported. A file without any is left out.
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
    with tempfile.TemporaryDirectory(prefix="turnetl-export-") as folder:
        copy = Lake(Path(folder) / "lake")
        for file in lake.turn_files_of(groups):
            rows = lake.read_turns_file(file.path)
            selected = rows.filter(condition)
            if selected.is_empty() and not rows.is_empty():
                continue
            redacted, found = redacted_rows(selected, redactor)
            metadata = file.metadata
            if selected.height < rows.height:
                counts = {**metadata.counts, "turns": redacted.height}
                metadata = replace(metadata, counts=counts, retained_turns=0, retained_digest="")
            if found or selected.height < rows.height:
                # A later run must not take the rows for those of the archive's content.
                metadata = replace(metadata, sha256=ids.digest(*redacted["content_hash"]))
            path = copy.write_turns(redacted, metadata, digest=file.path.stem, previous_files=())
            files[path.relative_to(copy.root).as_posix()] = path.read_bytes()
            path.unlink()
            turns, redactions = turns + redacted.height, redactions + found
    return files, turns, redactions


def _values(item: Entity | Fact) -> Mapping[str, object]:
    columns = ENTITY_COLUMNS if isinstance(item, Entity) else FACT_COLUMNS
    values = {name: getattr(item, name) for name in columns}
    lists = {name: list(value) for name, value in values.items() if isinstance(value, tuple)}
    return values | lists | {"attributes": msgspec.json.encode(dict(item.attributes)).decode()}


def _encoded(rows: list[Mapping[str, object]], columns: Mapping[str, Any]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(rows, schema=dict(columns)).write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
