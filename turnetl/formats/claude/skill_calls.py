"""Detection of commands and skills that the model calls itself.

Versions of 2025 announced each such call under role user, in the form of a command that the user
typed. The announcement follows the call before the model's next message.
"""

from dataclasses import dataclass, field

from turnetl.formats.base import RawToolCall

_TOOLS = ("Skill", "SlashCommand")


@dataclass(slots=True)
class SkillCalls:
    """The calls that may still be announced."""

    _message: str | None = None
    _inputs: list[str] = field(default_factory=list)

    def start_message(self, message_id: str | None) -> None:
        """Start a line of the model. Lines with the same message id are one message."""
        if message_id is None or message_id != self._message:
            self.clear()
        self._message = message_id

    def add(self, call: RawToolCall) -> None:
        if call.name in _TOOLS:
            self._inputs.append(call.input)

    def pop(self, command: str | None) -> bool:
        """Return whether the model called this command. Each call is announced once."""
        name = (command or "").lstrip("/")
        call = next((call for call in self._inputs if name and name in call), None)
        if call is not None:
            self._inputs.remove(call)
        return call is not None

    def clear(self) -> None:
        """Expect no more announcements: the model continued, or the user interrupted it."""
        self._inputs.clear()
