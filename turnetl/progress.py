"""Progress updates of a stage, sent to a callback that displays them."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """`done` of `total` units of a stage are finished."""

    stage: str
    name: str
    """What the units are, or the group that they belong to."""
    done: int
    total: int


Progress = Callable[[ProgressUpdate], None]


def ignore_progress(_: ProgressUpdate) -> None:
    """Display nothing."""
