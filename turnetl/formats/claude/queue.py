"""The queue of messages that the user types while Claude Code works."""

from collections import Counter
from dataclasses import dataclass, field

from turnetl.formats.claude.machine_text import is_by_user, without_context
from turnetl.formats.kit.counts import ParseCounts
from turnetl.skip_reasons import SkipReason

_MID_TURN = "absorbed_mid_turn"
_DELIVERED = (None, _MID_TURN)
"""The reasons with which a message leaves the queue for the agent. Older versions write none."""

_Queued = tuple[str, str | None]
"""A message and its id in the queue, which only newer versions write."""


@dataclass(slots=True)
class MessageQueue:
    """Follows what the user typed through the queue.

    A removed message was delivered to the working agent, a dequeued one returns as a prompt, and a
    popped one went back to the editor. Newer versions write a delivered message a second time, as
    an attachment, before or after its removal.

    The client's own messages use the same queue, and operations often do not say which message they
    are about: its messages are left out, and an operation is about the user's oldest one. What a
    dequeue took stays expected until a prompt has its words: nothing is lost if the dequeue was
    about a message of the client.
    """

    queued: list[str] = field(default_factory=list)
    _expected: list[str] = field(default_factory=list)
    """Messages that were dequeued, and have not returned as a prompt."""
    _removed: list[_Queued] = field(default_factory=list)
    """Messages delivered by a removal, and not attached yet."""
    _attached: list[_Queued] = field(default_factory=list)
    """Messages delivered by an attachment, and not removed yet."""
    _withdrawn: int = 0

    def apply(
        self, operation: str | None, text: str | None, reason: str | None, key: str | None
    ) -> str | None:
        """Apply one operation; return the message that it delivered to the agent, if any."""
        if text is not None and not is_by_user(text):
            return None
        if operation == "enqueue":
            self.queued += [] if text is None else [text]
        elif operation == "popAll":
            self._withdrawn += len(self.queued)
            self.queued.clear()
        elif operation == "remove" or reason == _MID_TURN:
            removed = self._remove(text)
            if reason in _DELIVERED:
                return self._deliver(removed, key)
            self._withdrawn += removed is not None
        elif operation == "dequeue":
            self._dequeue(text)
        return None

    def attach(self, text: str, key: str | None) -> str | None:
        """Read an attached message; return it unless its removal already delivered it."""
        if _discard(self._removed, text, key):
            return None
        self._attached.append((text, key))
        return text

    def match_prompt(self, text: str) -> None:
        """Match a row of role user with what was dequeued: it may be another message."""
        if not is_by_user(text):
            self.match_machine_prompt()
        elif (expected := _find(self._expected, text)) is not None:
            del self._expected[expected]
        elif (other := _find(self.queued, text)) is not None:
            del self.queued[other]
            self._return_expected()

    def match_machine_prompt(self) -> None:
        """Match a row that the client wrote: the last dequeue was about its message."""
        self._return_expected()

    def count(self, counts: ParseCounts) -> None:
        """Count the messages that never reached the agent, at the end of the archive.

        The lines that put them into the queue were counted as those of other operations.
        """
        left = Counter(map(_words, self.queued + self._expected))
        left -= Counter(_words(text) for text, _ in self._attached)
        undelivered = left.total()
        for reason, lines in (
            (SkipReason.WITHDRAWN, self._withdrawn),
            (SkipReason.UNDELIVERED, undelivered),
        ):
            moved = min(lines, counts.skipped[SkipReason.QUEUE])
            counts.skipped[SkipReason.QUEUE] -= moved
            counts.skipped[reason] += moved
        counts.skipped = +counts.skipped

    def _return_expected(self) -> None:
        self.queued[:0] = self._expected[-1:]
        del self._expected[-1:]

    def _dequeue(self, text: str | None) -> None:
        index = 0 if text is None else _find(self.queued, text)
        if index is not None and self.queued:
            self._expected.append(self.queued.pop(index))

    def _deliver(self, text: str | None, key: str | None) -> str | None:
        if text is None or _discard(self._attached, text, key):
            return None
        self._removed.append((text, key))
        return text

    def _remove(self, text: str | None) -> str | None:
        """Return the message that the operation names, else the oldest of the queue."""
        if text is None:
            return self.queued.pop(0) if self.queued else None
        for messages in (self.queued, self._expected):
            if (index := _find(messages, text)) is not None:
                del messages[index]
                break
        return text


def _find(messages: list[str], text: str) -> int | None:
    """Return the first message with the words of a text."""
    words = _words(text)
    return next((at for at, message in enumerate(messages) if _words(message) == words), None)


def _words(text: str) -> str:
    """Return the text without what the client adds: a row may have other white space."""
    return " ".join(without_context(text).split())


def _discard(messages: list[_Queued], text: str, key: str | None) -> bool:
    """Remove a message from a list by its id or its text; return whether it was in the list."""
    words = _words(text)
    for index, (other_text, other_key) in enumerate(messages):
        if (key is not None and other_key == key) or _words(other_text) == words:
            del messages[index]
            return True
    return False
