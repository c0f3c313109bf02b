"""A pack on a Dask worker ends when nobody waits for it any more.

The scheduler drops a task as soon as its client cancels it, disconnects or is killed. A task in a
thread runs on; the worker only marks it as cancelled.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from distributed import Status, get_worker
from prefect import State
from prefect.states import Cancelled

T = TypeVar("T")

_INTERVAL = 0.5
"""Seconds between two checks."""
_STOPPING = (Status.closing, Status.closed, Status.failed)


async def while_wanted(work: Awaitable[T], is_wanted: Callable[[], bool]) -> T | State[T]:
    """Return the result of a pack, or Cancelled if nobody waits for it any more.

    Turns in progress are then rolled back, as after Ctrl-C.
    """
    try:
        async with asyncio.timeout(None) as limit:
            watch = asyncio.create_task(_end_unless_wanted(limit, is_wanted))
            try:
                return await work
            finally:
                watch.cancel()
    except TimeoutError:
        if not limit.expired():
            raise
        return Cancelled(message="the run was cancelled, or its Dask cluster was lost")


def is_wanted_here() -> Callable[[], bool]:
    """Return a check: whether the scheduler still wants the task that this thread executes."""
    worker: Any = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        is_running = task is not None and task.state != "cancelled"
        return is_running and worker.status not in _STOPPING

    return is_wanted


async def _end_unless_wanted(limit: asyncio.Timeout, is_wanted: Callable[[], bool]) -> None:
    while is_wanted():  # noqa: ASYNC110 - the state of a task is not an event
        await asyncio.sleep(_INTERVAL)
    limit.reschedule(asyncio.get_running_loop().time())
