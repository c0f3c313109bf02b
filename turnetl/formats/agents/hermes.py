"""Sessions of Hermes: the rows of a session and of its messages in `state.db`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import LineReader
from turnetl.formats.kit.message_parts import at, first_of, objects
from turnetl.formats.kit.row_decoder import decode_text
from turnetl.formats.kit.times import parse_timestamp

_LIST = ("\x00json:", "\x01json:")
"""What precedes the content of a message that is a list of parts."""


class HermesRow(msgspec.Struct):
    """A session, or a message; `timestamp` is in seconds."""

    id: int | None = None
    session_id: str | None = None
    cwd: str | None = None
    model: str | None = None
    git_branch: str | None = None
    delegate_from: str | None = None
    """The session whose agent started it."""
    role: str | None = None
    content: str | None = None
    tool_call_id: str | None = None
    tool_calls: Any = None
    timestamp: float | None = None
    active: int | None = None


_COLUMNS = frozenset(
    {
        *("id", "session_id", "role", "content", "tool_call_id", "tool_calls", "tool_name"),
        *("timestamp", "active", "source", "cwd", "model", "git_branch", "delegate_from"),
    }
)


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a session, or a message that is numbered, with no other columns."""
    if not {"session_id", "timestamp"} <= row.keys() <= _COLUMNS:
        return False
    return "source" in row or ("role" in row and isinstance(row.get("id"), int))


def _read(talk: Conversation, row: HermesRow) -> SkipReason | None:
    talk.time = parse_timestamp(row.timestamp)
    described = talk.describe(row.session_id, row.cwd, row.git_branch, model=row.model)
    if row.role is None:
        talk.started_by, talk.is_subagent = row.delegate_from, row.delegate_from is not None
        return described
    if row.active == 0:
        return SkipReason.REWIND
    if talk.is_subagent:
        return talk.sidechain(lambda run: _message(run, row))
    return _message(talk, row)


def _message(talk: Conversation, row: HermesRow) -> SkipReason | None:
    if row.role == "tool":
        return talk.result(row.tool_call_id, row.content or "")
    content: object = row.content
    if row.content is not None and row.content.startswith(_LIST):
        content = decode_text(row.content[len(_LIST[0]) :], row.content)
    calls = [
        talk.call(at(call, "function", "name"), at(call, "function", "arguments"), call.get("id"))
        for call in objects(row.tool_calls)
    ]
    return first_of([talk.content(row.role, content, f"{row.id}"), *calls])


HERMES = LineReader(HermesRow, (("session_id", "role", "timestamp"),), _is_row, _read)
