"""What all flows do around their work."""

import os
from collections.abc import Awaitable, Callable
from importlib import metadata
from typing import Any

from packaging.version import InvalidVersion, Version
from prefect import State
from prefect.context import FlowRunContext

from flows.events import PROVIDER_REFUSED, emit_stopped
from flows.run_log import turnetl_log
from flows.states import ended_by
from turnetl.base.errors import BadUsage, ModelUnusable, TurnetlError

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
