"""Progress updates of a stage, sent to a callback that displays them."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """`done` of `total` units of a stage are finished."""

    stage: str
    name: str
    """Name of the units, or of their group."""
    done: int
    total: int


Progress = Callable[[ProgressUpdate], None]


def ignore_progress(_: ProgressUpdate) -> None:
    """Display nothing."""
