"""How conversations look from outside."""

from dataclasses import dataclass
from itertools import islice

from turnetl.formats.base import Opening
from turnetl.formats.chat.rows import ANSWERS, LISTS
from turnetl.formats.kit.opening import Glimpse

_ROWS = 16
_MESSAGES = 8
"""Rows and messages looked at: those of another kind do not begin like these."""
_STRAY = 8
"""One row in so many may be of no kind: a row can be damaged, and nobody checks a long file."""
_REQUESTS = (
    *("request", "response", "choices", "output"),
    *("max_tokens", "max_completion_tokens", "stream"),
)
"""What stands beside the messages in logs of a model's requests: each repeats what was said."""
_EDITOR = "<environment_details>"
"""How an editor's agent tells about itself, under a person's name."""


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

    def is_seen_in(self, opening: Opening) -> bool:
        """Say whether there are conversations of this kind, and hardly anything else."""
        seen = [self._row(row) for row in islice(opening.rows, _ROWS)]
        return any(seen) and seen.count(None) * _STRAY <= len(seen)

    def _row(self, row: Glimpse) -> bool | None:
        """Return whether something is said in a row; None if it is none of these."""
        if self.rows and self.speaker in row:
            return True if self._is_row(row) else None
        lists = [row.each(key) for key in (*LISTS, *ANSWERS) if key in row]
        if "preferred_output" in row and (beside := row.within("input")) is not None:
            lists.append(beside.each("messages"))
        if not lists or any(key in row for key in _REQUESTS):
            return None
        messages = [message for found in lists for message in found[:_MESSAGES]]
        return bool(messages) if all(map(self._is_message, messages)) else None

    def _is_row(self, row: Glimpse) -> bool:
        told = (part.get("text") for part in row.each("content"))
        edited = any(isinstance(text, str) and text.startswith(_EDITOR) for text in told)
        return "type" not in row and not edited and self._is_message(row)

    def _is_message(self, message: Glimpse) -> bool:
        speaker = message.get(self.speaker)
        known = isinstance(speaker, str) and speaker in self.speakers
        return known and any(key in message for key in self.words)
