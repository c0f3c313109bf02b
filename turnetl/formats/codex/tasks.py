"""The task that Codex works on: which prompts came before it, and which in its midst."""

from dataclasses import dataclass

from turnetl.formats.codex.sessions import is_unique


@dataclass(slots=True)
class Task:
    """Follows the events that begin and end tasks; old versions write none."""

    turn_id: str | None = None
    _runs: bool = False
    _heard: bool = False
    """Whether the task has its prompt: the next one steers it."""

    def begin(self, turn_id: str | None) -> None:
        """Begin a task. The one before may have ended without a word."""
        self._heard = self._heard and not self._runs
        self._runs = True
        self.turn_id = turn_id if is_unique(turn_id) else None

    def end(self) -> None:
        self._runs = self._heard = False
        self.turn_id = None

    def hear(self) -> bool:
        """Take a prompt; say whether it steers the task that runs."""
        steers = self._runs and self._heard
        self._heard = True
        return steers
