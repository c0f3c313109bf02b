"""How conversations look from outside."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from turnetl.formats.base import Probe
from turnetl.formats.chat.rows import ANSWERS, LISTS
from turnetl.formats.kit.probe import LazyObject

_ROWS = 16
_MESSAGES = 16
"""Rows and messages looked at: those of another kind do not begin like these."""
_STRAY = 8
"""One row in so many may be of no kind: a row can be damaged, and nobody checks a long file."""
_REQUESTS = (
    *("request", "response", "choices", "output"),
    *("max_tokens", "max_completion_tokens", "stream"),
)
"""What stands beside the messages in logs of a model's requests: each repeats what was said."""
_EDITOR = re.compile(r"^<environment_details>", re.MULTILINE)
"""How an editor's agent tells about itself, under a person's name."""
_OTHERS = frozenset(
    {
        *("toolCall", "toolCalls", "toolCallId", "toolInvocations", "functionCall", "tool-call"),
        *("toolUse", "toolUseID", "toolRequest", "toolResponse", "functionResponse"),
        *("toolResult", "toolResults", "tool-result"),
    }
)
"""Keys and types of what other tools write under the same roles: calls that would be lost here."""


@dataclass(frozen=True, slots=True)
class Look:
    """How the messages of one format look."""

    speaker: str
    """The key under which it is said who speaks."""
    speakers: frozenset[str]
    words: tuple[str, ...]
    """The keys under which something is said."""
    rows: bool = False
    """Whether messages may be rows of their own."""

    def is_seen_in(self, probe: Probe) -> bool:
        """Say whether there are conversations of this kind, and hardly anything else."""
        rows = [*islice(probe.rows, _ROWS)]
        found = [self._messages(row) for row in rows]
        seen = [self._is_said(messages) for messages in found]
        if not any(seen) or seen.count(None) * _STRAY > len(seen):
            return False
        said = (message for messages in found for message in messages or ())
        return not any(map(_is_edited, rows)) and not any(map(_is_of_another, said))

    def _messages(self, row: LazyObject) -> list[LazyObject] | None:
        """Return the first messages in a row; None if it is neither one nor has a place for them.

        A row that is one is a message itself.
        """
        if self.rows and self.speaker in row:
            return [row] if "type" not in row else None
        lists = [row.objects_at(key) for key in (*LISTS, *ANSWERS) if key in row]
        if "preferred_output" in row and (beside := row.object_at("input")) is not None:
            lists.append(beside.objects_at("messages"))
        if not lists or any(key in row for key in _REQUESTS):
            return None
        return [message for found in lists for message in found[:_MESSAGES]]

    def _is_said(self, messages: list[LazyObject] | None) -> bool | None:
        """Return whether something is said; None if it is said in another way than here."""
        if messages is None or not all(map(self._is_message, messages)):
            return None
        return bool(messages)

    def _is_message(self, message: LazyObject) -> bool:
        speaker = message.get(self.speaker)
        known = isinstance(speaker, str) and speaker in self.speakers
        return known and any(key in message for key in self.words)


def _is_edited(row: LazyObject) -> bool:
    """Say whether an editor's agent wrote what stands under a person's name in a row."""
    return any(_EDITOR.search(text) for text in _texts(row))


def _is_of_another(message: LazyObject) -> bool:
    """Say whether a message or one of its parts is in the form of another tool."""
    return any(map(_is_others_part, (message, *message.objects_at("content"))))


def _is_others_part(part: LazyObject) -> bool:
    return not _OTHERS.isdisjoint((*part, str(part.get("type"))))


def _texts(row: LazyObject) -> Iterator[str]:
    texts = (row.get("content"), *(part.get("text") for part in row.objects_at("content")))
    return (text for text in texts if isinstance(text, str))
