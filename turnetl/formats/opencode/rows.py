"""What OpenCode writes: sessions, messages and their parts, only the fields that are used.

A message of an export is `{info, parts}`; in the store message and parts are files of their own.
Messages of mid-2025 hold their parts themselves, and those before them keep half in `metadata`.
Times are milliseconds since 1970.
"""

from typing import Annotated, Any

import msgspec

from turnetl.formats.kit.row_decoder import RowDecoder

Stamp = int | float | str | None
_Tokens = Annotated[int, msgspec.Meta(ge=0, lt=2**40)]


class Time(msgspec.Struct, gc=False):
    """When something was made, or ran: each kind of row fills two of these."""

    created: Stamp = None
    completed: Stamp = None
    start: Stamp = None
    end: Stamp = None


class Fork(msgspec.Struct, gc=False, rename={"session_id": "sessionID"}):
    """Where a copied conversation comes from; written by OpenCode 2."""

    session_id: str | None = None


class Summary(msgspec.Struct, gc=False):
    """Of a person's message: what it changed, which is not read."""


class Usage(msgspec.Struct, gc=False):
    input: _Tokens | None = None
    output: _Tokens | None = None


class Model(msgspec.Struct, gc=False, rename={"model_id": "modelID"}):
    """`id` in OpenCode 2."""

    model_id: str | None = None
    id: str | None = None


class Where(msgspec.Struct, gc=False):
    """A message's folder is `cwd`, a session's `directory`."""

    cwd: str | None = None
    directory: str | None = None


class Error(msgspec.Struct, gc=False):
    """`type` in OpenCode 2."""

    name: str | None = None
    type: str | None = None
    message: str | None = None


class Result(msgspec.Struct, gc=False):
    """What a tool says about its result, beside the text that the model is given."""

    answers: Any = None
    error: Any = None
    message: Any = None
    time: Any = None


class State(msgspec.Struct, gc=False):
    """A tool's call, and what came of it."""

    status: str | None = None
    input: Any = None
    output: Any = None
    content: Any = None
    error: Any = None
    metadata: Result | None = None
    time: Time | None = None


class Invocation(msgspec.Struct, gc=False, rename="camel"):
    """A tool's call in messages before mid-2025."""

    state: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    args: Any = None
    result: Any = None


class Part(
    msgspec.Struct,
    gc=False,
    rename={
        "session_id": "sessionID",
        "message_id": "messageID",
        "media_type": "mediaType",
        "invocation": "toolInvocation",
    },
):
    """A piece of a message: text, file, tool, reasoning, step-start, step-finish ..."""

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
    state: State | None = None
    command: str | None = None
    prompt: str | None = None
    overflow: bool | None = None
    tokens: Usage | None = None
    time: Time | None = None
    invocation: Invocation | None = None


class Assistant(msgspec.Struct, gc=False, rename={"model_id": "modelID"}):
    """What messages before mid-2025 say of the model."""

    model_id: str | None = None
    path: Where | str | None = None
    summary: bool | Summary | None = None
    tokens: Usage | None = None


class Metadata(msgspec.Struct, gc=False, rename={"session_id": "sessionID"}):
    """Half of a message before mid-2025."""

    session_id: str | None = None
    time: Time | None = None
    error: Error | None = None
    assistant: Assistant | None = None
    tool: dict[str, Result] | None = None


class Info(
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
    model: Model | None = None
    path: Where | str | None = None
    summary: bool | Summary | None = None
    finish: str | None = None
    error: Error | None = None
    tokens: Usage | None = None
    time: Time | None = None
    parts: list[Part] | None = None
    metadata: Metadata | None = None


class Session(msgspec.Struct, gc=False, rename={"parent_id": "parentID"}):
    """A conversation: a person's, or that of a subagent, which has a parent."""

    id: str | None = None
    parent_id: str | None = None
    directory: str | None = None
    location: Where | None = None
    version: str | None = None
    fork: Fork | None = None


class Element(msgspec.Struct, gc=False):
    """A message in an export."""

    info: Info | None = None
    parts: list[Part] | None = None


ELEMENTS = RowDecoder(Element)
INFOS = RowDecoder(Info)
PARTS = RowDecoder(Part)
SESSIONS = RowDecoder(Session)
