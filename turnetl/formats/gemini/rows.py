"""The rows of Gemini CLI's sessions, with only the fields that are used.

A document's messages, messages on lines, and lines that change earlier messages are all decoded
into one struct. The fields of a row show which of them it is.
"""

from typing import Any

import msgspec

from turnetl.formats.kit.row_decoder import Envelope, RowDecoder
from turnetl.formats.kit.tool_input import as_text
from turnetl.formats.kit.usage import GeminiUsage

MODEL_TYPES = ("gemini", "model", "assistant")
NOTICE_TYPES = ("info", "warning", "error")
MESSAGE_TYPES = ("user", *MODEL_TYPES, *NOTICE_TYPES)


class GeminiFunctionCall(msgspec.Struct):
    id: str | None = None
    name: str | None = None
    args: Any = None


class GeminiFunctionResponse(msgspec.Struct):
    id: str | None = None
    name: str | None = None
    response: Any = None


class GeminiPart(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: Any = None
    function_call: GeminiFunctionCall | None = None
    function_response: GeminiFunctionResponse | None = None
    inline_data: Any = None
    file_data: Any = None


Content = str | list[str | GeminiPart] | GeminiPart | None


class GeminiToolCall(msgspec.Struct, rename="camel"):
    """A call with its result: `result` is for the model, `result_display` for the user."""

    id: str | None = None
    name: str | None = None
    args: Any = None
    result: Content = None
    status: str | None = None
    timestamp: str | None = None
    agent_id: str | None = None
    result_display: Any = None


class SessionUpdate(msgspec.Struct, rename="camel"):
    """Metadata of a session, and its messages if all of them were written again."""

    session_id: str | None = None
    kind: str | None = None
    directories: list[str] | None = None
    messages: "list[GeminiRow] | None" = None


class HistoryPatch(msgspec.Struct, rename="camel"):
    remove_ids: list[str] | None = None


class GeminiRow(SessionUpdate, rename="camel"):
    """A message, or a session's header, or a change to either."""

    id: str | None = None
    type: str | None = None
    timestamp: str | None = None
    content: Content = None
    parts: Content = None
    display_content: Content = None
    tool_calls: list[GeminiToolCall] | None = None
    tokens: GeminiUsage | None = None
    model: str | None = None
    update: SessionUpdate | None = msgspec.field(default=None, name="$set")
    patch: HistoryPatch | None = msgspec.field(default=None, name="$patch")
    rewind_to: str | None = msgspec.field(default=None, name="$rewindTo")


_OWN = (("id", "timestamp", "type"), ("sessionId", "projectHash"), ("$set",), ("$rewindTo",))
ROWS = RowDecoder(GeminiRow, Envelope(_OWN))


def parts_of(content: Content) -> list[GeminiPart]:
    """Return the parts of a message that is a text, a part, or a list of either."""
    if content is None or content == "":
        return []
    parts = content if isinstance(content, list) else [content]
    return [GeminiPart(text=part) if isinstance(part, str) else part for part in parts]


def texts_of(content: Content) -> list[str]:
    """Return the texts of a message, without reasoning and without blank texts."""
    if isinstance(content, str):
        return [content] if content.strip() else []
    texts = [part.text for part in parts_of(content) if part.text and not part.thought]
    return [text for text in texts if text.strip()]


def calls_of(row: GeminiRow) -> list[GeminiToolCall]:
    """Return the calls of a message: those recorded, then those that only its parts name."""
    recorded = row.tool_calls or []
    ids = {call.id for call in recorded}
    named = [part.function_call for part in parts_of(row.content) if part.function_call]
    others = [GeminiToolCall(call.id, call.name, call.args) for call in named if call.id not in ids]
    return [*recorded, *others]


FAILED = ("error", "cancelled")


def result_of(call: GeminiToolCall) -> tuple[str, bool]:
    parts = parts_of(call.result)
    results = [response_result(response) for response in responses_in(call.result)]
    other_texts = [part.text for part in parts if part.text]
    text = "\n".join([text for text, _ in results] + other_texts)
    failed = call.status in FAILED or any(failed for _, failed in results)
    return text or _displayed(call.result_display), failed


def responses_in(content: Content) -> list[GeminiFunctionResponse]:
    return [part.function_response for part in parts_of(content) if part.function_response]


def response_result(response: GeminiFunctionResponse) -> tuple[str, bool]:
    value = response.response
    if isinstance(value, dict) and value.get("error"):
        return as_text(value["error"]), True
    if isinstance(value, dict) and "output" in value:
        return as_text(value["output"]), False
    return as_text(value), False


def _displayed(display: Any) -> str:
    """Return the result that the user was shown: a text or a change to a file."""
    if isinstance(display, dict) and isinstance(display.get("fileDiff"), str):
        return str(display["fileDiff"])
    return as_text(display)
