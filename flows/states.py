"""How flow runs end."""

from collections.abc import Sequence
from typing import Any

from prefect import State
from prefect.states import Completed, Failed

from turnetl.base.control_characters import displayed_message
from turnetl.base.errors import BudgetExhausted, TurnetlError

BUDGET_STOPPED = "BudgetStopped"
"""The name of the state of a run that its budget ended. Its type is COMPLETED: nothing failed, and
the next run continues."""


def failed(sentences: Sequence[str]) -> State[Any]:
    """Return Failed with the first sentence, and the number of the others."""
    first, *more = map(displayed_message, sentences)
    return Failed(message=f"{first} (and {len(more)} more)" if more else first)


def ended_by(error: TurnetlError) -> State[Any]:
    message = displayed_message(str(error))
    if isinstance(error, BudgetExhausted):
        return budget_stopped(message)
    return Failed(message=message)


def budget_stopped(message: str, data: Any = None) -> State[Any]:
    return Completed(name=BUDGET_STOPPED, message=displayed_message(message), data=data)
