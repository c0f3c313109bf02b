"""Recognition of chat logs by the shape of their messages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from turnetl.formats.chat.rows import LISTS, RESPONSES
from turnetl.formats.kit.probe import LazyObject
from turnetl.formats.port import Probe

_ROWS = 16
_MESSAGES = 16
"""Rows, and messages of each row, that are examined: other formats differ from the start."""
_ROWS_PER_MISMATCH = 8
"""At least this many rows per row of another shape: rows of a long file can be damaged."""
_REQUESTS = (
    *("request", "response", "choices", "output"),
    *("max_tokens", "max_completion_tokens", "stream"),
)
"""Keys beside the messages in logs of model requests: each request repeats the conversation."""
_EDITOR = re.compile(
    r"^<environment_details>|^\[[a-z_]+(?: for [^\n]*)?\] Result:"
    r"|^<(?:attempt_completion|ask_followup_question|read_file|write_to_file|execute_command"
    r"|replace_in_file|apply_diff|search_files|list_files)>\s*<",
    re.MULTILINE,
)
"""What an editor's agent writes under the user's role, and calls of its tools in texts."""
_OTHER_TOOLS = frozenset(
    {
        *("toolCall", "toolCalls", "toolCallId", "toolInvocations", "functionCall", "tool-call"),
        *("toolUse", "toolUseID", "toolRequest", "toolResponse", "functionResponse"),
        *("toolResult", "toolResults", "tool-result"),
    }
)
"""Keys and types that other tools write under the same roles: their calls would be lost."""


@dataclass(frozen=True, slots=True)
class ChatShape:
    """The shape of the messages of one format."""

    speaker_key: str
    speakers: frozenset[str]
    body_keys: tuple[str, ...]
    rows: bool = False
    """Whether a message may be a row of its own."""

    def matches(self, probe: Probe) -> bool:
        """Return whether almost all rows are conversations of this shape."""
        rows = [*islice(probe.rows, _ROWS)]
        messages = [self._messages(row) for row in rows]
        matching = [self._has_shape(of_row) for of_row in messages]
        if not any(matching) or matching.count(None) * _ROWS_PER_MISMATCH > len(matching):
            return False
        examined = [message for of_row in messages for message in of_row or ()]
        return not any(map(_is_from_editor, examined)) and not any(
            map(_is_from_other_tool, examined)
        )

    def _messages(self, row: LazyObject) -> list[LazyObject] | None:
        """Return the first messages in a row, or the row if it is a message; None if neither."""
        if self.rows and self.speaker_key in row:
            return [row] if "type" not in row else None
        lists = [row.objects_at(key) for key in (*LISTS, *RESPONSES) if key in row]
        if "preferred_output" in row and (nested := row.object_at("input")) is not None:
            lists.append(nested.objects_at("messages"))
        if not lists or any(key in row for key in _REQUESTS):
            return None
        return [message for messages in lists for message in messages[:_MESSAGES]]

    def _has_shape(self, messages: list[LazyObject] | None) -> bool | None:
        """Return whether a row has messages; None if it has another shape."""
        if messages is None or not all(map(self._is_message, messages)):
            return None
        return bool(messages)

    def _is_message(self, message: LazyObject) -> bool:
        speaker = message.get(self.speaker_key)
        known = isinstance(speaker, str) and speaker in self.speakers
        return known and any(key in message for key in self.body_keys)


def _is_from_editor(row: LazyObject) -> bool:
    """Return whether an editor's agent wrote a text under the user's role."""
    return any(_EDITOR.search(text) for text in _texts(row))


def _is_from_other_tool(message: LazyObject) -> bool:
    """Return whether a message or one of its parts has the form of another tool."""
    return any(map(_has_other_keys, (message, *message.objects_at("content"))))


def _has_other_keys(part: LazyObject) -> bool:
    return not _OTHER_TOOLS.isdisjoint((*part, str(part.get("type"))))


def _texts(row: LazyObject) -> Iterator[str]:
    texts = (row.get("content"), *(part.get("text") for part in row.objects_at("content")))
    return (text for text in texts if isinstance(text, str))
