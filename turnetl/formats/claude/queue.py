"""The queue of messages that the user types while Claude Code works."""

from dataclasses import dataclass, field

from turnetl.formats.claude.machine_text import skip_reason

_MID_TURN = "absorbed_mid_turn"
_DELIVERED = (None, _MID_TURN)
"""The reasons with which a message leaves the queue for the agent. Older versions write none."""

_Queued = tuple[str, str | None]
"""A message and its id in the queue, which only newer versions write."""


@dataclass(slots=True)
class MessageQueue:
    """Follows the queue by its operations. A removed message was delivered to the working agent.

    A dequeued message returns as a prompt, and a popped message went back to the editor.
    Notifications use the same queue and may stay in it for good. Newer versions write a delivered
    message a second time, as an attachment, before or after its removal.
    """

    queued: list[str] = field(default_factory=list)
    _dequeued: str | None = None
    """The message expected as the next prompt. The operation does not name it."""
    _removed: list[_Queued] = field(default_factory=list)
    """Messages delivered by a removal, and not attached yet."""
    _attached: list[_Queued] = field(default_factory=list)
    """Messages delivered by an attachment, and not removed yet."""

    def apply(
        self, operation: str | None, text: str | None, reason: str | None, key: str | None
    ) -> str | None:
        """Apply one operation; return the message that it delivered to the agent, if any."""
        if operation == "enqueue":
            self.queued.append(text or "")
        elif operation == "popAll":
            self.queued.clear()
        elif operation == "remove" or reason == _MID_TURN:
            removed = self._remove(text)
            return self._deliver(removed, key) if reason in _DELIVERED else None
        elif operation == "dequeue" and self.queued:
            self._dequeued = self.queued.pop(0)
        return None

    def attach(self, text: str, key: str | None) -> str | None:
        """Read an attached message; return it unless its removal already delivered it."""
        if _discard(self._removed, text, key):
            return None
        self._attached.append((text, key))
        return text

    def match_prompt(self, text: str) -> None:
        """Match a prompt with the queue: it may be another message than the oldest."""
        if text != self._dequeued and text in self.queued:
            self.queued.remove(text)
            self.queued[:0] = [] if self._dequeued is None else [self._dequeued]
        self._dequeued = None

    def _deliver(self, text: str | None, key: str | None) -> str | None:
        if text is None or _discard(self._attached, text, key):
            return None
        self._removed.append((text, key))
        return text

    def _remove(self, text: str | None) -> str | None:
        """Return the message that the operation names, else the oldest that the user wrote."""
        if text in self.queued:
            self.queued.remove(text or "")
        if text is not None or not self.queued:
            return text
        by_user = (
            index for index, message in enumerate(self.queued) if skip_reason(message) is None
        )
        return self.queued.pop(next(by_user, 0))


def _discard(messages: list[_Queued], text: str, key: str | None) -> bool:
    """Remove a message from a list by its id or its text; return whether it was in the list."""
    for index, (other_text, other_key) in enumerate(messages):
        if other_text == text or (key is not None and other_key == key):
            del messages[index]
            return True
    return False
