"""The queue of messages that a person types while Claude Code works."""

from dataclasses import dataclass, field

from turnetl.formats.claude.machine_text import machine

_MID_TURN = "absorbed_mid_turn"
_ABSORBED = (None, _MID_TURN)
"""Why a message left the queue if the agent got it: earlier versions give no reason."""

_Said = tuple[str, str | None]
"""A message and its id in the queue, which only later versions write."""


@dataclass(slots=True)
class Queue:
    """Follows the queue by its operations. What is removed from it reached the agent in its work.

    What is dequeued comes back as a prompt of its own, and what is popped went back to the editor;
    notifications of the machine go through the same queue and may stay in it for good. Later
    versions write what the agent got a second time, as an attachment, before or after its removal.
    """

    waiting: list[str] = field(default_factory=list)
    _dequeued: str | None = None
    """What is believed to come back as a prompt next: the operation does not name it."""
    _removed: list[_Said] = field(default_factory=list)
    """Said by way of a removal, and not attached yet."""
    _attached: list[_Said] = field(default_factory=list)
    """Said by way of an attachment, and not removed yet."""

    def follow(
        self, operation: str | None, text: str | None, reason: str | None, key: str | None
    ) -> str | None:
        """Take one operation; return the message that reached the agent by it, if any did."""
        if operation == "enqueue":
            self.waiting.append(text or "")
        elif operation == "popAll":
            self.waiting.clear()
        elif operation == "remove" or reason == _MID_TURN:
            removed = self._taken(text)
            return self._once(removed, key) if reason in _ABSORBED else None
        elif operation == "dequeue" and self.waiting:
            self._dequeued = self.waiting.pop(0)
        return None

    def attach(self, text: str, key: str | None) -> str | None:
        """Take a message that was attached; return it unless its removal told it already."""
        if _strike(self._removed, text, key):
            return None
        self._attached.append((text, key))
        return text

    def come(self, text: str) -> None:
        """Take the words of a row: what was dequeued is this, and not what waited longest."""
        if text != self._dequeued and text in self.waiting:
            self.waiting.remove(text)
            self.waiting[:0] = [] if self._dequeued is None else [self._dequeued]
        self._dequeued = None

    def _once(self, text: str | None, key: str | None) -> str | None:
        if text is None or _strike(self._attached, text, key):
            return None
        self._removed.append((text, key))
        return text

    def _taken(self, text: str | None) -> str | None:
        """Return the message named, else the oldest that a person wrote."""
        if text in self.waiting:
            self.waiting.remove(text or "")
        if text is not None or not self.waiting:
            return text
        human = (at for at, one in enumerate(self.waiting) if machine(one) is None)
        return self.waiting.pop(next(human, 0))


def _strike(told: list[_Said], text: str, key: str | None) -> bool:
    """Strike a message off what was told; say whether it was there, by its id or its words."""
    for at, (words, name) in enumerate(told):
        if words == text or (key is not None and name == key):
            del told[at]
            return True
    return False
