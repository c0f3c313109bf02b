"""The tasks that the workers of a Dask cluster run; each worker has settings of its own.

A pack ends when nobody waits for it any more: the scheduler drops a task as soon as its client
cancels it, disconnects or is killed. A task in a thread runs on; the worker only marks it as
cancelled.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from distributed import Status, get_worker
from prefect import State, task
from prefect.cache_policies import NO_CACHE
from prefect.states import Cancelled

from flows.backfill_run import BackfillParameters
from flows.stages import HOUR
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.parsing import ParseReport
from turnetl.pipeline.packed_backfill import (
    IngestedPack,
    ingest_pack,
    profile_differences,
    worker_profile,
)
from turnetl.pipeline.run_backfill import parse
from turnetl.settings import Settings

Profile = Mapping[str, str]
"""What `worker_profile` returns."""
_WAIT = 300
"""Seconds in which a group that a lost worker wrote is tried again: longer than its lease."""


def profile_here(parameters: BackfillParameters) -> Profile:
    """Return the profile of this process, in a thread without an event loop."""
    settings = asyncio.run(parameters.settings())
    return worker_profile(settings, parameters.options("backfill"))


@task(
    name="parse pack",
    task_run_name="parse {name}",
    tags={"parse"},
    cache_policy=NO_CACHE,
    persist_result=False,
    timeout_seconds=HOUR,
)
async def parse_task(
    name: str,  # noqa: ARG001 - names the task run
    archives: Sequence[str],
    parameters: BackfillParameters,
    expected: Profile,
) -> ParseReport | State[ParseReport]:
    """Parse a pack of archives."""
    settings = await _settings(parameters, expected)
    work = parse(archives, settings, format_name=parameters.format or None)
    return await while_wanted(work, is_wanted_here())


@task(
    name="ingest pack",
    task_run_name="ingest {name}",
    tags={"ingest"},
    cache_policy=NO_CACHE,
    persist_result=False,
    timeout_seconds=12 * HOUR,
)
async def ingest_task(
    name: str,  # noqa: ARG001 - names the task run
    groups: Sequence[GroupId],
    parameters: BackfillParameters,
    expected: Profile,
) -> IngestedPack | State[IngestedPack]:
    """Filter and ingest a pack of groups."""
    settings = await _settings(parameters, expected)
    options = parameters.options("backfill", wait_seconds=_WAIT)
    return await while_wanted(ingest_pack(groups, settings, options, now), is_wanted_here())


async def _settings(parameters: BackfillParameters, expected: Profile) -> Settings:
    """Return the settings of this worker, which may have joined after all were compared."""
    settings = await parameters.settings()
    found = worker_profile(settings, parameters.options("backfill"))
    if unequal := profile_differences(expected, found):
        raise BadUsage(refusal("this worker", unequal))
    # A Dask worker is one of several on its machine.
    return settings if settings.jobs else settings.model_copy(update={"jobs": 1})


def refusal(worker: str, unequal: Sequence[str]) -> str:
    return (
        f"{worker} has other settings than the flow: {', '.join(unequal)}; give it the same "
        "version of turnetl, environment and files"
    )


T = TypeVar("T")

_WATCH = 0.5
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
        await asyncio.sleep(_WATCH)
    limit.reschedule(asyncio.get_running_loop().time())
