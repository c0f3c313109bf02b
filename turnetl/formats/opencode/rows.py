"""The sessions, messages and parts that OpenCode writes, with only the fields that are used.

A message of an export is `{info, parts}`. In the store, a message and its parts are separate files.
Messages of mid-2025 contain their parts, and earlier ones keep half of their fields in `metadata`.
Messages of OpenCode 2 are converted to these: one object with a `type`; answers name no prompt and
follow it, and `idle` ends a turn. Times are milliseconds since 1970.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from turnetl.formats.kit.row_decoder import RowDecoder
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.usage import OpenCodeUsage
from turnetl.formats.port import SourceSpan

RawTimestamp = int | float | str | None


class OpenCodeTime(msgspec.Struct, gc=False):
    """The times of a message, a part or a call: each kind has two of these fields."""

    created: RawTimestamp = None
    completed: RawTimestamp = None
    start: RawTimestamp = None
    end: RawTimestamp = None


class OpenCodeFork(msgspec.Struct, gc=False, rename={"session_id": "sessionID"}):
    """The origin of a copied session, written by OpenCode 2."""

    session_id: str | None = None


class OpenCodeSummary(msgspec.Struct, gc=False):
    """The changes of a user's message, which are not read."""


class OpenCodeModel(msgspec.Struct, gc=False, rename={"model_id": "modelID"}):
    """OpenCode 2 writes `id`."""

    model_id: str | None = None
    id: str | None = None


class OpenCodeLocation(msgspec.Struct, gc=False):
    """A message's folder is `cwd`, a session's `directory`."""

    cwd: str | None = None
    directory: str | None = None


class OpenCodeError(msgspec.Struct, gc=False):
    """OpenCode 2 writes `type`."""

    name: str | None = None
    type: str | None = None
    message: str | None = None


class ToolMetadata(msgspec.Struct, gc=False):
    """A tool's metadata of its result, beside the text for the model."""

    answers: Any = None
    session_id: Any = msgspec.field(default=None, name="sessionId")
    """Of the subagent that the tool started."""
    error: Any = None
    exit: Any = None
    """Exit status of a command: it is not in the text for the model."""
    message: Any = None
    time: Any = None


class ToolState(msgspec.Struct, gc=False):
    status: str | None = None
    input: Any = None
    output: Any = None
    content: Any = None
    error: Any = None
    metadata: ToolMetadata | None = None
    time: OpenCodeTime | None = None


class ToolInvocation(msgspec.Struct, gc=False, rename="camel"):
    """A tool call in messages before mid-2025."""

    state: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    args: Any = None
    result: Any = None


class OpenCodePart(
    msgspec.Struct,
    gc=False,
    rename={
        "session_id": "sessionID",
        "message_id": "messageID",
        "media_type": "mediaType",
        "invocation": "toolInvocation",
    },
):
    """A part of a message: text, file, tool, reasoning, step-start, step-finish ..."""

    type: str | None = None
    id: str | None = None
    session_id: str | None = None
    message_id: str | None = None
    text: str | None = None
    synthetic: bool | None = None
    ignored: bool | None = None
    filename: str | None = None
    name: str | None = None
    mime: str | None = None
    media_type: str | None = None
    tool: str | None = None
    state: ToolState | None = None
    command: str | None = None
    prompt: str | None = None
    overflow: bool | None = None
    tokens: OpenCodeUsage | None = None
    time: OpenCodeTime | None = None
    invocation: ToolInvocation | None = None


class AssistantMetadata(msgspec.Struct, gc=False, rename={"model_id": "modelID"}):
    """The model's fields in messages before mid-2025."""

    model_id: str | None = None
    path: OpenCodeLocation | str | None = None
    summary: bool | OpenCodeSummary | None = None
    tokens: OpenCodeUsage | None = None


class MessageMetadata(msgspec.Struct, gc=False, rename={"session_id": "sessionID"}):
    """Half of the fields of a message before mid-2025."""

    session_id: str | None = None
    time: OpenCodeTime | None = None
    error: OpenCodeError | None = None
    assistant: AssistantMetadata | None = None
    tool: dict[str, ToolMetadata] | None = None


class MessageInfo(
    msgspec.Struct,
    gc=False,
    rename={"session_id": "sessionID", "parent_id": "parentID", "model_id": "modelID"},
):
    id: str | None = None
    role: str | None = None
    session_id: str | None = None
    parent_id: str | None = None
    model_id: str | None = None
    model: OpenCodeModel | None = None
    path: OpenCodeLocation | str | None = None
    summary: bool | OpenCodeSummary | None = None
    finish: str | None = None
    error: OpenCodeError | None = None
    tokens: OpenCodeUsage | None = None
    time: OpenCodeTime | None = None
    parts: list[OpenCodePart] | None = None
    metadata: MessageMetadata | None = None


class OpenCodeSession(msgspec.Struct, gc=False, rename={"parent_id": "parentID"}):
    """A session of the user, or of a subagent, which has a parent."""

    id: str | None = None
    parent_id: str | None = None
    directory: str | None = None
    location: OpenCodeLocation | None = None
    version: str | None = None
    fork: OpenCodeFork | None = None


class ExportElement(msgspec.Struct, gc=False):
    info: MessageInfo | None = None
    parts: list[OpenCodePart] | None = None


ELEMENTS = RowDecoder(ExportElement)
INFOS = RowDecoder(MessageInfo)
PARTS = RowDecoder(OpenCodePart)
SESSIONS = RowDecoder(OpenCodeSession)


_MILLISECONDS = range(10**12, 5 * 10**12)
"""Since 1970, in the years 2001 to 2128."""


@dataclass(slots=True)
class OpenCodeMessage:
    """A message and its parts in order, each with its span."""

    info: MessageInfo
    span: SourceSpan
    parts: list[tuple[OpenCodePart, SourceSpan]] = field(default_factory=list)

    @property
    def created(self) -> datetime | None:
        return parse_raw_timestamp(self.info.time.created) if self.info.time is not None else None

    @property
    def all_parts(self) -> list[OpenCodePart]:
        return [part for part, _ in self.parts]

    @property
    def spans(self) -> list[SourceSpan]:
        return [self.span, *(span for _, span in self.parts)]


def build_message(
    span: SourceSpan, info: MessageInfo, parts: Iterable[OpenCodePart] = ()
) -> OpenCodeMessage:
    """Return a message with the parts beside it or inside it."""
    included = [*parts, *(info.parts or [])]
    if info.metadata is not None and info.time is None:
        included = [_converted_part(part, info.metadata) for part in included]
        info = _converted_info(info, info.metadata)
    return OpenCodeMessage(info, span, [(part, span) for part in included])


def parse_raw_timestamp(value: RawTimestamp) -> datetime | None:
    """Return a time given in milliseconds, or in any form of `parse_timestamp`, or as digits."""
    if isinstance(value, int) and value in _MILLISECONDS:
        return datetime.fromtimestamp(value / 1000, UTC)
    return parse_timestamp(int(value) if isinstance(value, str) and value.isdecimal() else value)


def folder_of(location: OpenCodeLocation | str | None) -> str | None:
    if isinstance(location, OpenCodeLocation):
        return location.cwd or location.directory
    return location or None


def _converted_info(info: MessageInfo, metadata: MessageMetadata) -> MessageInfo:
    """Convert a message of before mid-2025 to the current form."""
    by_model = metadata.assistant or info
    return MessageInfo(
        id=info.id,
        role=info.role,
        session_id=info.session_id or metadata.session_id,
        parent_id=info.parent_id,
        model_id=by_model.model_id,
        path=by_model.path,
        summary=by_model.summary,
        error=info.error or metadata.error,
        tokens=by_model.tokens,
        time=info.time or metadata.time,
    )


def _converted_part(part: OpenCodePart, metadata: MessageMetadata) -> OpenCodePart:
    """Convert a part of before mid-2025 to the current form."""
    call = part.invocation
    if call is None:
        return part
    result = (metadata.tool or {}).get(call.tool_call_id or "", ToolMetadata())
    status = {"call": "running", "result": "completed"}.get(call.state or "", "pending")
    state = ToolState(
        status="error" if result.error is True else status,
        input=call.args,
        output=call.result,
        error=call.result or result.message,
        time=_time(result.time),
    )
    return OpenCodePart(type="tool", tool=call.tool_name, state=state)


def _time(value: object) -> OpenCodeTime | None:
    end = value.get("end") if isinstance(value, dict) else None
    return OpenCodeTime(end=end) if isinstance(end, int | float | str) else None


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


class V2Message(msgspec.Struct, gc=False, rename={"session_id": "sessionID"}):
    """A row of a database names its session; one of an export does not."""

    type: str | None = None
    id: str | None = None
    session_id: str | None = None
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
    is_client = message.type in _CLIENT
    info = MessageInfo(
        id=message.id,
        role="user" if is_client else message.type,
        session_id=message.session_id,
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
    content = called.content if isinstance(called.content, list) else [called.content]
    result = "\n".join(filter(None, map(_text, content)))
    error = called.error.message if called.error is not None else None
    state = ToolState(
        status=called.status,
        input=called.input,
        output=result,
        error=error or result,
        time=OpenCodeTime(end=part.time.completed if part.time is not None else None),
    )
    return OpenCodePart(type=part.type, tool=part.name, state=state)


def _text(content: Any) -> str | None:
    text = content.get("text") if isinstance(content, dict) else content
    return text if isinstance(text, str) else None
