"""The tokens of subagents whose rows are in no turn, from the metadata of the turns files."""

from collections.abc import Iterable

import polars as pl

from turnetl import schema
from turnetl.lake import TurnFile

_TYPES = {column.name: column.dtype for column in schema.TURNS.columns}
_NAMES = ("group_id", "format", "model", "started_at", "input_tokens", "output_tokens")
SUBAGENTS = pl.Schema({name: _TYPES[name] for name in _NAMES})
"""One row for a subagent, a model and a UTC day. `started_at` is the time of its first message."""


def subagent_rows(files: Iterable[TurnFile]) -> pl.DataFrame:
    """Return the tokens of subagents as rows of `SUBAGENTS`, sorted.

    Several archives may hold the same subagent: its own one, the session's, or a copy of either.
    The one with most tokens counts, because each holds all of it or a part.

    Args:
        files: turns files, with their metadata.
    """
    found = [
        {
            "subagent": one.subagent,
            "group_id": file.metadata.group,
            "format": file.metadata.format,
            "model": one.model,
            "started_at": one.started_at,
            "input_tokens": one.input_tokens,
            "output_tokens": one.output_tokens,
        }
        for file in files
        for one in file.metadata.subagent_usage or ()
    ]
    rows = pl.DataFrame(found, schema={"subagent": pl.String, **SUBAGENTS})
    tokens = pl.col("input_tokens") + pl.col("output_tokens")
    day = pl.col("started_at").dt.date().alias("day")
    return (
        rows.sort(tokens, "input_tokens", descending=True)
        .group_by("group_id", "subagent", "model", day, maintain_order=True)
        .first()
        .select(list(SUBAGENTS))
        .sort(list(SUBAGENTS), nulls_last=True)
    )


def archives_without_usage(files: Iterable[TurnFile]) -> int:
    """Return the number of archives with subagents whose tokens are not known."""
    return sum(file.metadata.lacks_subagent_usage for file in files)
