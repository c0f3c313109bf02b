"""The queue of messages that a person types while Claude Code works."""

from collections import Counter
from dataclasses import dataclass, field

from turnetl.formats.claude.words import machine

_ABSORBED = (None, "absorbed_mid_turn")
"""Why a message left the queue if the agent got it: earlier versions give no reason."""


@dataclass(slots=True)
class Queue:
    """Follows the queue by its operations. What is removed from it reached the agent in its work.

    What is dequeued comes back as a prompt of its own, and what is popped went back to the editor;
    notifications of the machine go through the same queue and may stay in it for good. Later
    versions write what the agent got a second time, as an attachment, before or after its removal.
    """

    waiting: list[str] = field(default_factory=list)
    _removed: Counter[str] = field(default_factory=Counter)
    """Said by way of a removal, and not attached yet."""
    _attached: Counter[str] = field(default_factory=Counter)
    """Said by way of an attachment, and not removed yet."""

    def follow(self, operation: str | None, text: str | None, reason: str | None) -> str | None:
        """Take one operation; return the message that reached the agent by it, if any did."""
        if operation == "enqueue":
            self.waiting.append(text or "")
        elif operation == "popAll":
            self.waiting.clear()
        elif operation == "dequeue" and self.waiting:
            self.waiting.pop(0)
        elif operation == "remove":
            return self._once(self._taken(text), reason)
        return None

    def attach(self, text: str) -> str | None:
        """Take a message that was attached; return it unless its removal told it already."""
        if self._removed[text]:
            self._removed[text] -= 1
            return None
        self._attached[text] += 1
        return text

    def _once(self, text: str | None, reason: str | None) -> str | None:
        if text is None or reason not in _ABSORBED:
            return None
        if self._attached[text]:
            self._attached[text] -= 1
            return None
        self._removed[text] += 1
        return text

    def _taken(self, text: str | None) -> str | None:
        """Return the message named, else the oldest that a person wrote."""
        if text in self.waiting:
            self.waiting.remove(text or "")
        if text is not None or not self.waiting:
            return text
        human = (at for at, one in enumerate(self.waiting) if machine(one) is None)
        return self.waiting.pop(next(human, 0))
