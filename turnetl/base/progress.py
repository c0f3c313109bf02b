"""Progress updates of a stage, sent to a callback that displays them."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunCost:
    """The cost of a run over all its groups. Dollars are None if a price is unknown."""

    tokens: int
    """Of prompts and responses so far."""
    usd: float | None
    expected_tokens: int | None = None
    """Of all planned turns, as learned from committed ones; None if nothing is learned yet."""
    expected_usd: float | None = None
    budget_tokens: int | None = None
    budget_usd: float | None = None
    committed_usd: float | None = None
    """What this run paid for the turns that it committed; None without a budget."""
    repeated_responses: int = 0
    """Responses that were requested again, because a learned limit had truncated them."""
    unused_tokens: int = 0
    """Of responses to requests that ran ahead and that no turn needed; part of `tokens`."""


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """`done` of `total` units of a stage are finished."""

    stage: str
    name: str
    """Name of the units, or of their group."""
    done: int
    total: int
    cost: RunCost | None = None
    """Of the run so far; None if the stage uses no model."""


Progress = Callable[[ProgressUpdate], None]


def ignore_progress(_: ProgressUpdate) -> None:
    """Display nothing."""
