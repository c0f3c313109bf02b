"""Rows of the turns and episodes tables as the values that travel between stages."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import polars as pl

from turnetl.base import schema
from turnetl.base.model import ClosedBy, Episode, MessageUsage, SessionId, ToolCall, Turn


def turn_from_row(row: Mapping[str, Any]) -> Turn:
    """Return a row of the turns or episodes table as a value."""
    fields = {name: row[name] for name in _TURN_FIELDS}
    closed_by = row["closed_by"]
    fields |= {
        "session_id": SessionId(row["session_id"]),
        "started_at": _utc(row["started_at"]),
        "ended_at": _utc(row["ended_at"]),
        "steering": tuple(row["steering"]),
        "user_answers": tuple(row["user_answers"]),
        "subagent_prompts": tuple(row["subagent_prompts"]),
        "tool_calls": tuple(_tool_call(call) for call in row["tool_calls"]),
        "closed_by": ClosedBy(closed_by) if closed_by else None,
        "usage": _usage(row["usage"]),
    }
    return Turn(**fields)


def episode_from_row(row: Mapping[str, Any]) -> Episode:
    """Return a row of the episodes table as a value."""
    fields = {name: row[name] for name in _EPISODE_FIELDS}
    chunks = tuple(row["chunks"]) or (row["text"],)
    return Episode(turn=turn_from_row(row), **fields | {"chunks": chunks})


CHUNK_COUNT = pl.max_horizontal(pl.col("chunks").list.len(), 1)
"""Number of chunks of a row of the episodes table, which lists none if the text is one chunk."""
_TURN_FIELDS = schema.TURNS.polars.names()
_EPISODE_FIELDS = [name for name in schema.EPISODES.polars.names() if name not in _TURN_FIELDS]


def _usage(messages: Sequence[Mapping[str, Any]] | None) -> tuple[MessageUsage, ...] | None:
    return None if messages is None else tuple(MessageUsage(**one) for one in messages)


def _tool_call(row: Mapping[str, Any]) -> ToolCall:
    return ToolCall(**{**row, "ended_at": _utc(row["ended_at"])})


def _utc(time: datetime | None) -> datetime | None:
    return time.replace(tzinfo=UTC) if time is not None else None
