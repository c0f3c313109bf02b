"""Messages and conversations: only the fields that are used.

A row is a message or a conversation: an archive may hold either, and both formats are read alike.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from turnetl.formats.chat.roles import SPEAKERS, Speaker
from turnetl.formats.kit.row_decoder import RowDecoder

_Name = str | int | None


class Message(msgspec.Struct, gc=False):
    """What one speaker said. OpenAI's has a role and a content, ShareGPT's a from and a value."""

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
    id: _Name = None
    timestamp: Any = None
    created_at: Any = None
    create_time: Any = None
    created: Any = None
    conversation_id: _Name = None
    session_id: _Name = None

    @property
    def speaker(self) -> Speaker | None:
        return SPEAKERS.get(self.role or self.sender or "")

    @property
    def words(self) -> Any:
        """What was said: a text, a list of parts, or an object."""
        if self.content is not None:
            return self.content
        return self.value if self.value is not None else self.text

    @property
    def time(self) -> Any:
        return self.timestamp or self.created_at or self.create_time or self.created


class Input(msgspec.Struct, gc=False):
    messages: list[Message] | None = None


_Answer = Message | list[Message] | str | None


class Row(Message, gc=False):
    """A message, or a conversation with its messages."""

    uuid: _Name = None
    messages: list[Message] | None = None
    conversations: list[Message] | None = None
    conversation: list[Message] | None = None
    chosen_messages: list[Message] | None = None
    prompt: list[Message] | str | None = None
    input: Input | str | None = None
    chosen: _Answer = None
    preferred_output: _Answer = None
    completion: _Answer = None


class _Pieces(msgspec.Struct, gc=False):
    """A conversation of which the messages stay as they are written."""

    messages: list[msgspec.Raw] | None = None
    conversations: list[msgspec.Raw] | None = None
    conversation: list[msgspec.Raw] | None = None
    chosen_messages: list[msgspec.Raw] | None = None
    prompt: list[msgspec.Raw] | str | None = None


ROWS = RowDecoder(Row)
_pieces = msgspec.json.Decoder(_Pieces).decode

LISTS = ("messages", "conversations", "conversation", "chosen_messages", "prompt")
"""Where a conversation's messages stand; the first that holds any counts."""
ANSWERS = ("chosen", "preferred_output", "completion")
"""Where the answer stands that was preferred, beside messages that end without it."""


def messages_of(row: Row) -> list[Message]:
    """Return what was said in a conversation; of two answers only the preferred one was."""
    said: list[Message] = _list_of(row)
    if not said and isinstance(row.input, Input):
        said = row.input.messages or []
    return said + answer_of(row, said) if said else list(_answer(row))


def answer_of(row: Row, said: list[Message]) -> list[Message]:
    """Return the preferred answer that stands beside messages, if they end without one.

    What was asked may stand there once more, before the answer.
    """
    if said and said[-1].speaker is Speaker.MODEL:
        return []
    found = list(_answer(row))
    asked = [at for at, message in enumerate(found) if message.speaker is Speaker.PERSON]
    return found[asked[-1] + 1 :] if asked else found


def pieces_of(raw: bytes) -> list[bytes]:
    """Return the messages of a conversation as they are written; none if it is crooked."""
    try:
        return list(map(bytes, _list_of(_pieces(raw))))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def name_of(row: Row) -> str:
    """Return the id that a conversation has; empty if none."""
    found = (row.conversation_id, row.session_id, row.id, row.uuid)
    return str(next((name for name in found if name is not None), ""))


def _list_of(row: Row | _Pieces) -> list[Any]:
    """Return the first of `LISTS` that holds anything."""
    found = row.messages or row.conversations or row.conversation or row.chosen_messages
    if found:
        return found
    return row.prompt if isinstance(row.prompt, list) else []


def _answer(row: Row) -> Iterator[Message]:
    for name in ANSWERS:
        found = getattr(row, name)
        if isinstance(found, str):
            yield Message(role="assistant", content=found)
        elif isinstance(found, Message):
            yield found
        elif found is not None:
            yield from found
