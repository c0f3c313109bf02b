"""Conversion of OpenCode 2 messages to the form of OpenCode 1.

In OpenCode 2 a message is one object with a `type`. Answers name no prompt and follow it. Messages
of the client have types of their own. `idle` ends a turn.
"""

from typing import Any

import msgspec

from turnetl.formats.kit.row_decoder import RowDecoder
from turnetl.formats.kit.usage import OpenCodeUsage
from turnetl.formats.opencode.rows import (
    MessageInfo,
    OpenCodeError,
    OpenCodeModel,
    OpenCodePart,
    OpenCodeTime,
    RawTimestamp,
    ToolState,
)

_CLIENT = ("synthetic", "system", "skill")


class V2ToolState(msgspec.Struct, gc=False):
    """The state of a tool call. The part's `time` holds its start and its end."""

    status: str | None = None
    input: Any = None
    content: Any = None
    error: OpenCodeError | None = None


class V2Part(msgspec.Struct, gc=False):
    """A part of a response: text, reasoning or tool."""

    type: str | None = None
    text: str | None = None
    name: str | None = None
    state: V2ToolState | None = None
    time: OpenCodeTime | None = None


class V2File(msgspec.Struct, gc=False):
    name: str | None = None
    mime: str | None = None


class V2Message(msgspec.Struct, gc=False):
    """A message of OpenCode 2."""

    type: str | None = None
    id: str | None = None
    text: str | None = None
    files: list[V2File] | None = None
    content: list[V2Part] | None = None
    model: OpenCodeModel | None = None
    finish: str | None = None
    outcome: str | None = None
    error: OpenCodeError | None = None
    tokens: OpenCodeUsage | None = None
    time: OpenCodeTime | None = None


V2_MESSAGES = RowDecoder(V2Message)


def to_v1(message: V2Message) -> tuple[MessageInfo, list[OpenCodePart]]:
    """Return the message without its parts, and the parts."""
    is_client = message.type in _CLIENT
    info = MessageInfo(
        id=message.id,
        role="user" if is_client else message.type,
        model=message.model,
        finish=message.outcome or message.finish,
        error=message.error,
        tokens=message.tokens,
        time=message.time,
    )
    parts = [_part(part) for part in message.content or []]
    if message.text is not None:
        parts.append(OpenCodePart(type="text", text=message.text, synthetic=is_client))
    files = message.files or []
    parts += [OpenCodePart(type="file", filename=file.name, mime=file.mime) for file in files]
    return info, parts


def _part(part: V2Part) -> OpenCodePart:
    called = part.state
    if called is None:
        return OpenCodePart(type=part.type, text=part.text)
    result = "\n".join(filter(None, map(_text, _as_list(called.content))))
    error = called.error.message if called.error is not None else None
    state = ToolState(
        status=called.status,
        input=called.input,
        output=result,
        error=error or result,
        time=OpenCodeTime(end=_completed(part.time)),
    )
    return OpenCodePart(type=part.type, tool=part.name, state=state)


def _completed(time: OpenCodeTime | None) -> RawTimestamp:
    return time.completed if time is not None else None


def _as_list(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [content]


def _text(content: Any) -> str | None:
    text = content.get("text") if isinstance(content, dict) else content
    return text if isinstance(text, str) else None
