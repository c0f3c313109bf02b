"""Rows of subagents, in their own archive or between those of the session: they are in no turn."""

from turnetl.formats.claude.rows import ClaudeMessage, ClaudeRow, blocks_of, count_calls
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.turn_builder import TurnBuilder
from turnetl.skip_reasons import SkipReason

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
        _add_usage(row, row.message, builder)
    return _SIDECHAIN


def _add_usage(row: ClaudeRow, message: ClaudeMessage, builder: TurnBuilder) -> None:
    """Add the usage of an API message, which several rows repeat."""
    key, usage = message.id or row.uuid, message.usage
    if key is None or usage is None or message.model == SYNTHETIC:
        return
    builder.subagents.add(
        row.session_id,
        row.agent_id or row.parent_tool_use_id,
        started_by=row.session_id,
        key=key,
        model=message.model,
        time=parse_timestamp(row.timestamp),
        tokens=(usage.input_tokens, usage.output_tokens),
    )
