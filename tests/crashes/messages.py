"""What the program that carries out trials reads and writes."""

from pathlib import Path

import msgspec

from tests.crashes.states import State
from tests.crashes.trial_context import TrialContext


class Trial(msgspec.Struct, frozen=True):
    """A command with a fault, or without one."""

    command: str
    action: str
    """Name of an `Action`. `COUNT` means no fault, and must come first."""
    point: int = 0
    """As of `FaultPoints.arm`."""
    part: int = 1
    """Of `STEP` and `STEP_TEAR`: which states are returned, each `parts`th one."""
    parts: int = 1
    is_later: bool = False
    """Whether the other run, while this one is stopped, starts after all leases have expired."""


class Setup(msgspec.Struct, frozen=True):
    """Where commands work: the first line of the input."""

    folder: str
    graph: str | None
    provider: str | None

    def place(self) -> TrialContext:
        return TrialContext(Path(self.folder), self.graph, self.provider)


class TrialOutcome(msgspec.Struct, frozen=True):
    """What became of a trial."""

    ended: str
    """`done`, `killed`, `signal N`, `failed: …` with the sentence, or `crashed: …`."""
    other: str = ""
    """How the other run ended, while this one was stopped."""
    repeated: str = ""
    """How the repetition ended."""
    differences: tuple[str, ...] = ()
    """What differs from an undisturbed run after the repetition."""
    paid_twice: int = 0
    """Requests of the repetition whose responses were in the journal, and those of the run that
    died whose responses were not, but for those in flight."""
    points: tuple[str, ...] = ()
    """A line for each point, of a trial without a fault."""
    changes_before: tuple[int, ...] = ()
    """For each of these points, how many changes were before it."""
    states: tuple[State, ...] = ()
    """Of a `STEP` or `STEP_TEAR`."""

    @property
    def is_orderly(self) -> bool:
        """Whether no run ended in an unexpected error, or by a signal of its own."""
        return all(
            ended in ("", "done", "killed") or ended.startswith("failed")
            for ended in (self.ended, self.other, self.repeated)
        )

    @property
    def is_as_undisturbed(self) -> bool:
        return self.repeated == "done" and not self.differences and not self.paid_twice
