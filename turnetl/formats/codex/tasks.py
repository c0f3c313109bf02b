"""The task that Codex works on, and whether a prompt starts it or steers it."""

from dataclasses import dataclass

from turnetl.formats.codex.sessions import unique_id


@dataclass(slots=True)
class CodexTask:
    """Follows the events at the start and the end of tasks. Old versions write none."""

    turn_id: str | None = None
    in_review: bool = False
    """Whether a review runs: Codex writes the messages to its reviewer."""
    _is_running: bool = False
    _has_prompt: bool = False
    """Whether the task has its prompt: the next one steers it."""

    @property
    def is_running(self) -> bool:
        return self._is_running

    @property
    def has_prompt(self) -> bool:
        """Whether a task is running and has its prompt."""
        return self._is_running and self._has_prompt

    def start(self, turn_id: str | None) -> None:
        """Start a task. The previous one may have no event at its end."""
        self._has_prompt = self._has_prompt and not self._is_running
        self._is_running, self.in_review = True, False
        self.turn_id = unique_id(turn_id)

    def end(self) -> None:
        self._is_running = self._has_prompt = self.in_review = False
        self.turn_id = None

    def add_prompt(self) -> bool:
        """Add a prompt; return whether it steers the running task."""
        is_steering = self.has_prompt
        self._has_prompt = True
        return is_steering
