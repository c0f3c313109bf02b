"""What all flows do around their work, and how they end."""

import os
from collections.abc import Awaitable, Callable, Sequence
from importlib import metadata
from typing import Any

from packaging.version import InvalidVersion, Version
from prefect import State
from prefect.context import FlowRunContext
from prefect.states import Completed, Failed

from flows.events import PROVIDER_REFUSED, emit_stopped
from flows.run_log import turnetl_log
from turnetl.base.control_characters import displayed_message
from turnetl.base.errors import BadUsage, BudgetExhausted, ModelUnusable, TurnetlError

VERSION = metadata.version("turnetl")
"""The version of every flow, which Prefect records with deployments and runs."""
_UMASK = 0o077
"""For files that libraries create beside a graph; turnetl's own need no umask."""


async def run_flow(work: Callable[[], Awaitable[State[Any]]]) -> State[Any]:
    """Run the work of a flow: with turnetl's log in that of the run, and errors as states."""
    # The process of a flow run is its own.
    os.umask(_UMASK)
    with turnetl_log():
        try:
            _check_version()
            return await work()
        except TurnetlError as error:
            if isinstance(error, ModelUnusable):
                emit_stopped(PROVIDER_REFUSED, str(error), [])
            return ended_by(error)


def _check_version() -> None:
    """Check that this process has no older turnetl than the one that was deployed."""
    context = FlowRunContext.get()
    run = context.flow_run if context is not None else None
    deployed = run.deployment_version if run is not None else None
    if deployed and is_older(VERSION, deployed):
        raise BadUsage(
            f"this worker has turnetl {VERSION}, and the deployment is of turnetl {deployed}: "
            "update turnetl where the worker runs, or deploy again from there"
        )


def is_older(version: str, other: str) -> bool:
    """Return whether a version precedes another one; False if the other one is a commit of git."""
    if "." not in other:
        return False
    try:
        return Version(version) < Version(other)
    except InvalidVersion:
        return False


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
