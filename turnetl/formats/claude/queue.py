"""The queue of messages that a person types while Claude Code works."""

from dataclasses import dataclass, field

from turnetl.formats.claude.words import machine


@dataclass(slots=True)
class Queue:
    """Follows the queue by its operations. What is removed from it reached the agent in its work.

    What is dequeued comes back as a prompt of its own, and what is popped went back to the editor;
    notifications of the machine go through the same queue and may stay in it for good.
    """

    waiting: list[str] = field(default_factory=list)

    def follow(self, operation: str | None, text: str | None) -> str | None:
        """Take one operation; return the message that reached the agent by it, if any did."""
        if operation == "enqueue":
            self.waiting.append(text or "")
        elif operation == "popAll":
            self.waiting.clear()
        elif operation == "dequeue" and self.waiting:
            self.waiting.pop(0)
        elif operation == "remove":
            return self._removed(text)
        return None

    def _removed(self, text: str | None) -> str | None:
        """Return the message named, else the oldest that a person wrote."""
        if text in self.waiting:
            self.waiting.remove(text or "")
        if text is not None or not self.waiting:
            return text
        human = (at for at, one in enumerate(self.waiting) if machine(one) is None)
        return self.waiting.pop(next(human, 0))
