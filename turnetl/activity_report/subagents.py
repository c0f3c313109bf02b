"""Tokens of API messages in no turn, from the metadata of the turns files."""

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from turnetl.base import ids, schema
from turnetl.base.model import SubagentUsage
from turnetl.base.schema import TOKEN_COUNTS
from turnetl.lake import ArchiveMetadata, TurnFile

_TYPES = {column.name: column.dtype for column in schema.TURNS.columns}
_NAMES = ("group_id", "format", "model", "started_at", *TOKEN_COUNTS)
SUBAGENTS = pl.Schema(
    {"message": pl.String, "is_of_subagent": pl.Boolean} | {name: _TYPES[name] for name in _NAMES}
)
"""One row for each API message of each archive. `started_at` is the time of the first message of
the same subagent, model and UTC day."""


def subagent_rows(files: Iterable[TurnFile]) -> pl.DataFrame:
    """Return the messages in no turn as rows of `SUBAGENTS`.

    Several archives may hold the same message.

    Args:
        files: turns files, with their metadata.
    """
    found = [
        row
        for file in files
        for one in file.metadata.subagent_usage or ()
        for row in _rows(file.metadata, one)
    ]
    return pl.DataFrame(found, schema=SUBAGENTS)


def _rows(metadata: ArchiveMetadata, one: SubagentUsage) -> Iterator[dict[str, Any]]:
    shared = {
        "group_id": metadata.group,
        "format": metadata.format,
        "model": one.model,
        "started_at": one.started_at,
        "is_of_subagent": bool(one.subagent),
    }
    for message, *counts in one.messages:
        yield {"message": message, **shared, **dict(zip(TOKEN_COUNTS, counts, strict=True))}
    if not one.messages:
        # An older turnetl recorded only sums: the entry is the same in all archives of the group.
        day = "" if one.started_at is None else one.started_at.date().isoformat()
        name = ids.digest(metadata.group, one.subagent, one.model or "", day)
        yield {"message": name, **shared, **{count: getattr(one, count) for count in TOKEN_COUNTS}}


def older_archives(files: Iterable[TurnFile]) -> int:
    """Return the number of archives some of whose tokens are not known."""
    return sum(file.metadata.is_older for file in files)
