"""Stages of a flow as tasks that are retried after a transient failure."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar

from prefect import State, Task, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import TaskRun
from prefect.tasks import exponential_backoff

from turnetl.base.errors import Retryable

T = TypeVar("T")

HOUR = timedelta(hours=1).total_seconds()
DAY = timedelta(days=1).total_seconds()
RETRIES = 4
BACKOFF = 15
"""Seconds before the first retry, doubled each time."""
JITTER = 0.5


class Unfinished(Retryable):
    """Work that could not be finished, though the same may succeed later."""

    def __init__(self, message: str | None, report: Any) -> None:
        super().__init__(message)
        self.report = report
        """On what was done."""


def is_retryable(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Return whether a retry may succeed."""
    return isinstance(state.data, Retryable)


@task(
    name="stage",
    task_run_name="{name}",
    cache_policy=NO_CACHE,
    retries=RETRIES,
    retry_delay_seconds=exponential_backoff(backoff_factor=BACKOFF),
    retry_jitter_factor=JITTER,
    retry_condition_fn=is_retryable,
    timeout_seconds=12 * HOUR,
)
async def run_stage(
    name: str,  # noqa: ARG001 - names the task run
    work: Callable[[], Awaitable[T]],
) -> T:
    """Run a stage of a flow, and return its report."""
    return await work()
