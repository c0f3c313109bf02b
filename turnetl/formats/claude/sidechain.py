"""Rows of subagents, in their own archive or between those of the session: they are in no turn."""

from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.claude.rows import (
    ClaudeMessage,
    ClaudeProgress,
    ClaudeRow,
    ProgressMessage,
    blocks_of,
    count_calls,
)
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.turn_builder import TurnBuilder
from turnetl.formats.kit.usage import MessageTokens

SYNTHETIC = "<synthetic>"
"""The model of a message that the client wrote."""
# Bound once: access through the class of an enum is slow, and sessions may have many such rows.
_SIDECHAIN = SkipReason.SIDECHAIN


def is_sidechain(row: ClaudeRow) -> bool:
    """Return whether a row is of a subagent."""
    return bool(row.is_sidechain or row.parent_tool_use_id)


def read_sidechain(row: ClaudeRow, builder: TurnBuilder) -> SkipReason:
    """Count a row of a subagent, with its calls and tokens."""
    builder.counts.sidechain_rows += 1
    if row.type == "assistant" and row.message is not None:
        builder.counts.tool_calls += count_calls(blocks_of(row.message.content))
        tokens = message_tokens(row.message, row.timestamp)
        _add(
            row, row.agent_id or row.parent_tool_use_id, row.message.id or row.uuid, tokens, builder
        )
    elif row.data is not None:
        add_progress(row, row.data, builder)
    return _SIDECHAIN


def add_progress(row: ClaudeRow, progress: ClaudeProgress, builder: TurnBuilder) -> None:
    """Add the tokens of a subagent's message that a progress row reports."""
    reported = progress.message
    if reported is not None and reported.message is not None:
        tokens = message_tokens(reported.message, reported.timestamp or row.timestamp)
        _add(row, progress.agent_id, reported.message.id or reported.uuid, tokens, builder)


def message_tokens(
    message: ClaudeMessage | ProgressMessage, timestamp: str | float | None
) -> MessageTokens | None:
    """Return the tokens of an API message; None: it has none, or the client wrote it."""
    if message.usage is None or message.model == SYNTHETIC:
        return None
    return MessageTokens(message.usage, message.model, parse_timestamp(timestamp))


def _add(
    row: ClaudeRow,
    agent: str | None,
    key: str | None,
    tokens: MessageTokens | None,
    builder: TurnBuilder,
) -> None:
    if tokens is not None:
        session = row.session_id
        builder.subagents.add(session, agent, started_by=session, key=key, message=tokens)
