"""Commands and skills that the model calls by itself.

Versions of 2025 announced each of them under role user, in the words that stand for a command that
a person typed. Such a row comes behind the call, before the model says anything else.
"""

from dataclasses import dataclass, field

from turnetl.formats.base import RawToolCall

_LAUNCHERS = ("Skill", "SlashCommand")


@dataclass(slots=True)
class Launches:
    """Follows the calls that may be announced."""

    _message: str | None = None
    _calls: list[str] = field(default_factory=list)

    def speak(self, message: str | None) -> None:
        """Take it that the model says something: the lines of one message belong together."""
        if message is None or message != self._message:
            self.forget()
        self._message = message

    def call(self, tool: RawToolCall) -> None:
        if tool.name in _LAUNCHERS:
            self._calls.append(tool.input)

    def announced(self, command: str | None) -> bool:
        """Say whether it was the model that called this command: each call is announced once."""
        name = (command or "").lstrip("/")
        found = next((call for call in self._calls if name and name in call), None)
        if found is not None:
            self._calls.remove(found)
        return found is not None

    def forget(self) -> None:
        """Expect no more announcements: the model went on, or a person stopped it."""
        self._calls.clear()
