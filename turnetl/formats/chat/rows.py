"""The messages and conversations of chat logs, with only the fields that are used.

A row is a message or a conversation. Archives may hold either, and both formats are read alike.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from turnetl.formats.chat.roles import SPEAKERS, Speaker
from turnetl.formats.kit.damaged_lines import Envelope
from turnetl.formats.kit.row_decoder import RowDecoder

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
        shared=(
            frozenset({"role", "content"}),
            frozenset({"from", "value"}),
            *(frozenset({key}) for key in LISTS[:4]),
        ),
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
    """Return the preferred response beside messages, if they end without one.

    The prompt may be repeated before the response.
    """
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
    """Return the first of `LISTS` with any messages."""
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
