"""How far a stage is, told to whoever shows it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """So much of a stage is done, of so much."""

    stage: str
    name: str
    done: int
    total: int


Progress = Callable[[ProgressUpdate], None]


def ignore_progress(_: ProgressUpdate) -> None:
    """Show nothing."""
