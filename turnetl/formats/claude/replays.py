"""Detection of messages that the client writes again under new ids of rows.

With `--input-format stream-json` and after a compaction, Claude Code repeats earlier rows. The
model's messages keep their ids. A prompt is a repetition if the response that follows it repeats
the response to the same prompt.
"""

from dataclasses import dataclass, field

from turnetl.base.model import ClosedBy
from turnetl.formats.base import RawTurn
from turnetl.formats.claude.rows import MessageContent

_KEPT = ("text", "tool_use")


@dataclass(slots=True)
class Replays:
    """The messages of one archive, as far as it was read."""

    _owners: dict[str, RawTurn] = field(default_factory=dict)
    """The turn of a message's first row, by message id."""
    _rows: set[tuple[str, int]] = field(default_factory=set)
    _last: RawTurn | None = None
    _previous: RawTurn | None = None
    """The turn that the last turn follows in its session."""
    _closed_by: ClosedBy | None = None
    """How that turn was closed before the last one."""

    def owner(self, message_id: str | None, turn: RawTurn) -> RawTurn:
        """Return the turn of a message's first row, which is the given turn for a new message."""
        return turn if message_id is None else self._owners.setdefault(message_id, turn)

    def is_repeated(self, message_id: str | None, content: MessageContent, turn: RawTurn) -> bool:
        """Record the row of a message; return whether an earlier row had the same content."""
        if message_id is None:
            return False
        if not any(block.type in _KEPT for block in content.blocks):
            return self.repeats(turn, self.owner(message_id, turn))
        key = message_id, content.key
        is_repeated = key in self._rows
        self._rows.add(key)
        return is_repeated

    def repeats(self, turn: RawTurn, owner: RawTurn) -> bool:
        """Return whether a turn has only the prompt of the turn whose message follows it."""
        return turn is not owner and turn.user_text == owner.user_text and not _has_content(turn)

    def open(self, turn: RawTurn, previous: RawTurn | None, closed_by: ClosedBy | None) -> None:
        """Record a turn, the turn that it follows, and how that was closed before."""
        self._last, self._previous, self._closed_by = turn, previous, closed_by

    def reopen_previous(self) -> RawTurn | None:
        """Return the turn before the last one, which is taken back, open again if it was open."""
        previous, self._last = self._previous, None
        if previous is not None:
            previous.closed_by = self._closed_by
        return previous

    def is_last(self, turn: RawTurn) -> bool:
        return turn is self._last


def _has_content(turn: RawTurn) -> bool:
    texts = turn.assistant_texts or turn.steering or turn.user_answers
    return bool(texts or turn.tool_calls or turn.usage)
