"""The sessions, messages and parts that OpenCode writes, with only the fields that are used.

A message of an export is `{info, parts}`. In the store, a message and its parts are separate files.
Messages of mid-2025 contain their parts, and earlier ones keep half of their fields in `metadata`.
Times are milliseconds since 1970.
"""

from typing import Any

import msgspec

from turnetl.formats.kit.row_decoder import RowDecoder
from turnetl.formats.kit.usage import OpenCodeUsage

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
    error: Any = None
    message: Any = None
    time: Any = None


class ToolState(msgspec.Struct, gc=False):
    """A tool call and its result."""

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
    """A message without its parts."""

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
    """A message of an export."""

    info: MessageInfo | None = None
    parts: list[OpenCodePart] | None = None


ELEMENTS = RowDecoder(ExportElement)
INFOS = RowDecoder(MessageInfo)
PARTS = RowDecoder(OpenCodePart)
SESSIONS = RowDecoder(OpenCodeSession)
