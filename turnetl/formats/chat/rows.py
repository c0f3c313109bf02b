"""The messages and conversations of chat logs, with only the fields that are used.

A row is a message or a conversation. Archives may hold either, and both formats are read alike: the
speakers are OpenAI's `role` and ShareGPT's `from`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from turnetl.formats.kit.row_decoder import Envelope, RowDecoder, decode_text
from turnetl.formats.kit.tool_input import compact_json


class Speaker(Enum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL_CALL = "tool call"
    """The assistant, with a message that is only a tool call."""
    TOOL = "tool"


OPENAI = {
    "system": Speaker.SYSTEM,
    "developer": Speaker.SYSTEM,
    "user": Speaker.USER,
    "assistant": Speaker.ASSISTANT,
    "tool": Speaker.TOOL,
    "function": Speaker.TOOL,
}
SHAREGPT = {
    "system": Speaker.SYSTEM,
    "human": Speaker.USER,
    "user": Speaker.USER,
    "gpt": Speaker.ASSISTANT,
    "assistant": Speaker.ASSISTANT,
    "chatgpt": Speaker.ASSISTANT,
    "bing": Speaker.ASSISTANT,
    "bard": Speaker.ASSISTANT,
    "model": Speaker.ASSISTANT,
    "function_call": Speaker.TOOL_CALL,
    "function-call": Speaker.TOOL_CALL,
    "tool_call": Speaker.TOOL_CALL,
    "observation": Speaker.TOOL,
    "tool": Speaker.TOOL,
    "tool_response": Speaker.TOOL,
    "function_response": Speaker.TOOL,
    "function-response": Speaker.TOOL,
}
SPEAKERS = OPENAI | SHAREGPT


_Id = str | int | None


class ChatLogMessage(msgspec.Struct, gc=False):
    """One message. OpenAI's has a role and a content, ShareGPT's a from and a value."""

    role: str | None = None
    sender: str | None = msgspec.field(name="from", default=None)
    content: Any = None
    value: Any = None
    text: Any = None
    refusal: str | None = None
    name: str | None = None
    arguments: Any = None
    tool_calls: Any = None
    function_call: Any = None
    tool_call_id: str | None = None
    is_error: bool | None = None
    model: str | None = None
    id: _Id = None
    timestamp: Any = None
    created_at: Any = None
    create_time: Any = None
    created: Any = None
    conversation_id: _Id = None
    session_id: _Id = None

    @property
    def speaker(self) -> Speaker | None:
        return SPEAKERS.get(self.role or self.sender or "")

    @property
    def body(self) -> Any:
        """The content under any key: a text, a list of parts, or an object."""
        if self.content is not None:
            return self.content
        return self.value if self.value is not None else self.text

    @property
    def time(self) -> Any:
        return self.timestamp or self.created_at or self.create_time or self.created


class ChatLogInput(msgspec.Struct, gc=False):
    messages: list[ChatLogMessage] | None = None


_Response = ChatLogMessage | list[ChatLogMessage] | str | None


class ChatLogRow(ChatLogMessage, gc=False):
    """A message, or a conversation with its messages."""

    uuid: _Id = None
    messages: list[ChatLogMessage] | None = None
    conversations: list[ChatLogMessage] | None = None
    conversation: list[ChatLogMessage] | None = None
    chosen_messages: list[ChatLogMessage] | None = None
    prompt: list[ChatLogMessage] | str | None = None
    input: ChatLogInput | str | None = None
    chosen: _Response = None
    preferred_output: _Response = None
    completion: _Response = None


class _RawConversation(msgspec.Struct, gc=False):
    """A conversation whose messages stay encoded."""

    messages: list[msgspec.Raw] | None = None
    conversations: list[msgspec.Raw] | None = None
    conversation: list[msgspec.Raw] | None = None
    chosen_messages: list[msgspec.Raw] | None = None
    prompt: list[msgspec.Raw] | str | None = None


LISTS = ("messages", "conversations", "conversation", "chosen_messages", "prompt")
"""The keys of a conversation's messages. The first with any messages counts."""
RESPONSES = ("chosen", "preferred_output", "completion")
"""The keys of the preferred response, beside messages that end without a response."""
ROWS = RowDecoder(
    ChatLogRow,
    # A conversation is made of messages, each of which may also be a row.
    Envelope(
        shared=(("role", "content"), ("from", "value"), *((key,) for key in LISTS[:4])),
        holders=frozenset({"message", "input", "prompt", "rejected", *RESPONSES}),
    ),
)
_decode_raw = msgspec.json.Decoder(_RawConversation).decode


def messages_of(row: ChatLogRow) -> list[ChatLogMessage]:
    """Return the messages of a conversation; of two responses only the preferred one."""
    messages: list[ChatLogMessage] = _list_of(row)
    if not messages and isinstance(row.input, ChatLogInput):
        messages = row.input.messages or []
    return messages + response_of(row, messages) if messages else list(_responses(row))


def response_of(row: ChatLogRow, messages: list[ChatLogMessage]) -> list[ChatLogMessage]:
    """Return the preferred response beside messages that end without one, without the prompt."""
    if messages and messages[-1].speaker is Speaker.ASSISTANT:
        return []
    responses = list(_responses(row))
    prompts = [index for index, message in enumerate(responses) if message.speaker is Speaker.USER]
    return responses[prompts[-1] + 1 :] if prompts else responses


def encoded_messages(raw: bytes) -> list[bytes]:
    """Return the messages of an encoded conversation, still encoded; none if it is invalid."""
    try:
        return list(map(bytes, _list_of(_decode_raw(raw))))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def id_of(row: ChatLogRow) -> str:
    """Return the id of a conversation; empty if it has none."""
    for value in (row.conversation_id, row.session_id, row.id, row.uuid):
        if value is not None:
            return str(value)
    return ""


def _list_of(row: ChatLogRow | _RawConversation) -> list[Any]:
    messages = row.messages or row.conversations or row.conversation or row.chosen_messages
    if messages:
        return messages
    return row.prompt if isinstance(row.prompt, list) else []


def _responses(row: ChatLogRow) -> Iterator[ChatLogMessage]:
    for key in RESPONSES:
        response = getattr(row, key)
        if isinstance(response, str):
            yield ChatLogMessage(role="assistant", content=response)
        elif isinstance(response, ChatLogMessage):
            yield response
        elif response is not None:
            yield from response


_PLACEHOLDERS = {
    "image": "[image]",
    "image_url": "[image]",
    "image_file": "[image]",
    "input_image": "[image]",
    "audio": "[audio]",
    "audio_url": "[audio]",
    "input_audio": "[audio]",
    "video": "[video]",
    "video_url": "[video]",
    "file": "[file]",
    "input_file": "[file]",
    "document": "[file]",
}
_OMITTED = ("reasoning", "thinking", "redacted_thinking", "tools")
"""Reasoning is not kept, and a list of available tools is not a text of a message."""
_CALLS = ("tool_use", "tool_call", "tool_calls", "function_call")
_RESULT = "tool_result"
_ARGUMENTS = ("arguments", "input", "parameters", "args")


@dataclass(frozen=True, slots=True)
class MessageCall:
    key: str | None
    """The id by which its result names it."""
    name: str
    arguments: Any


def message_texts(body: Any) -> list[str]:
    """Return the texts of a message body, one per part; a placeholder in brackets for the rest."""
    if isinstance(body, str):
        return [body] if body else []
    if isinstance(body, list):
        return [text for part in body if (text := _part_text(part))]
    return [] if body is None else [compact_json(body)]


def nonblank_texts(body: Any) -> list[str]:
    if isinstance(body, str):
        return [body] if body.strip() else []
    return [text for text in message_texts(body) if text.strip()]


def joined_texts(body: Any) -> str:
    """Return a tool result as one text."""
    return "\n".join(message_texts(body))


def message_calls(message: ChatLogMessage) -> Sequence[MessageCall]:
    body = message.body
    parts = body if isinstance(body, list) else ()
    if message.tool_calls is None and message.function_call is None and not parts:
        return ()
    found = [_call(entry) for entry in _entries(message.tool_calls)]
    found += [_call(entry) for entry in _entries(message.function_call)]
    for part in parts:
        if isinstance(part, dict) and part.get("type") in _CALLS:
            found += _part_calls(part)
    return found


def standalone_calls(message: ChatLogMessage) -> Sequence[MessageCall]:
    """Return the calls of a message that consists of calls only."""
    if message.body is None:
        return (MessageCall(None, message.name or "", message.arguments),)
    return [_call(entry) for entry in _entries(message.body)]


def is_prompt(message: ChatLogMessage) -> bool:
    """Return whether a user's message has no tool results."""
    return not (isinstance(message.body, list) and tool_results(message))


def tool_results(message: ChatLogMessage) -> list[dict[str, Any]]:
    parts = message.body if isinstance(message.body, list) else []
    return [part for part in parts if isinstance(part, dict) and part.get("type") == _RESULT]


def listed_result(value: Any) -> str:
    if isinstance(value, dict) and "content" in value:
        return joined_texts(value["content"])
    return joined_texts(value)


def decoded_json(value: Any) -> Any:
    """Return the value of a text that is JSON; other values unchanged."""
    return decode_text(value, value) if isinstance(value, str) else value


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return compact_json(part)
    kind = part.get("type")
    if isinstance(kind, str) and kind in _PLACEHOLDERS:
        return _PLACEHOLDERS[kind]
    if kind in _OMITTED or kind in _CALLS or kind == _RESULT:
        return ""
    values = (part.get(key) for key in ("text", "value", "content", "refusal"))
    plain = (value.get("value") if isinstance(value, dict) else value for value in values)
    text = next((value for value in plain if isinstance(value, str)), None)
    return f"[{kind or 'unknown'}]" if text is None else text


def _part_calls(part: dict[str, Any]) -> Iterator[MessageCall]:
    if "value" not in part:
        yield _call(part)
        return
    for entry in _entries(part["value"]):
        yield _call(entry)


def _entries(value: Any) -> list[Any]:
    """Return one call or several, which may be encoded as JSON text."""
    if value is None:
        return []
    entries = decoded_json(value)
    return entries if isinstance(entries, list) else [entries]


def _call(entry: Any) -> MessageCall:
    entry = decoded_json(entry)
    if not isinstance(entry, dict):
        return MessageCall(None, "", entry)
    nested = (entry.get(key) for key in ("function", "custom"))
    function = next((value for value in nested if isinstance(value, dict)), entry)
    name, key = function.get("name"), entry.get("id")
    arguments = (function[argument] for argument in _ARGUMENTS if argument in function)
    return MessageCall(
        key if isinstance(key, str) else None,
        name if isinstance(name, str) else "",
        next(arguments, None),
    )
