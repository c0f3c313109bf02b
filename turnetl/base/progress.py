"""Progress updates of a stage, sent to a callback that displays them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from turnetl.base.results import described


@dataclass(frozen=True, slots=True)
class RunCost:
    """The cost of a run over all its groups. Dollars are None if a price is unknown."""

    tokens: int
    """Of prompts and responses so far."""
    usd: float | None
    """US dollars so far."""
    expected_tokens: Annotated[
        int | None,
        described("Tokens that all planned turns are expected to use; null if no turn says so."),
    ] = None
    """As learned from committed ones."""
    expected_usd: Annotated[
        float | None,
        described(
            "The same in US dollars; null if a model without a price was used, too.",
            name="expected_cost",
            digits=6,
        ),
    ] = None
    budget_tokens: int | None = None
    """None: no budget of tokens."""
    budget_usd: float | None = None
    """None: no budget of dollars."""
    committed_usd: Annotated[
        float | None,
        described(
            "US dollars that were paid for committed turns; null without a budget.",
            name="committed_cost",
            digits=6,
        ),
    ] = None
    repeated_responses: Annotated[
        int,
        described("Responses requested again, because a limit below the longest truncated them."),
    ] = 0
    unused_tokens: Annotated[
        int, described("Tokens of responses to requests that ran ahead and that no turn needed.")
    ] = 0
    """Part of `tokens`."""


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """`done` of `total` units of a stage are finished."""

    stage: str
    """What is running, such as `parse`."""
    name: str
    """Name of the units, or of their group."""
    done: int
    """Units that are finished."""
    total: int
    """Units in all."""
    cost: RunCost | None = None
    """Of the run so far; None if the stage uses no model."""


Progress = Callable[[ProgressUpdate], None]


def ignore_progress(_: ProgressUpdate) -> None:
    """Display nothing."""
