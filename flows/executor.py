"""The pipeline's units of work as Prefect tasks."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from prefect import tags, task
from prefect.cache_policies import NO_CACHE
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError, concurrency
from prefect.tasks import exponential_backoff

from flows.stages import BACKOFF, HOUR, JITTER, RETRIES, Unfinished, is_retryable, run_stage
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.ingestion.ingest_report import GroupReport
from turnetl.pipeline import Stage, Unit

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PrefectTasks:
    """Runs each unit as a task: retried after a transient failure, visible in the UI.

    Groups run in this one process, because an embedded graph has one writer process.
    """

    batch_size: int | None
    """Archives in one task."""
    slot_limit: str | None = None
    """A global concurrency limit, shared by all flows that use the same model."""
    slots: int = 0
    """Slots of that limit that an ingest occupies."""
    retry_delay: float | None = None
    """Seconds before each retry of a group or stage; None: 15, doubled each time."""

    @asynccontextmanager
    async def ingesting(self) -> AsyncIterator[None]:
        if self.slot_limit is None:
            yield
            return
        try:
            # Without `strict`, a limit that does not exist lets every flow pass.
            async with concurrency(self.slot_limit, occupy=self.slots, strict=True):
                yield
        except ConcurrencySlotAcquisitionError as error:
            raise BadUsage(
                f"the concurrency limit `{self.slot_limit}` has no {self.slots} slots; create it "
                f"with `prefect gcl create {self.slot_limit} --limit {self.slots}`"
            ) from error

    async def run_blocking(self, unit: Unit, work: Callable[[], T]) -> T:
        match unit.stage:
            case Stage.PARSE:
                return await parse_batch(unit.name, work)
            case Stage.FILTER:
                return await filter_turns(unit.name, work)
            case Stage.INGEST:
                raise AssertionError("groups are run by `run_group`")

    async def run_group(
        self, group: GroupId, work: Callable[[], Awaitable[GroupReport]]
    ) -> GroupReport:
        ingest = ingest_group
        if self.retry_delay is not None:
            ingest = ingest.with_options(retry_delay_seconds=self.retry_delay)
        try:
            with tags(f"group:{group}"):
                return await ingest(group, work)
        except Unfinished as unfinished:
            report: GroupReport = unfinished.report
            return report

    async def run_stage(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
        stage = run_stage
        if self.retry_delay is not None:
            stage = stage.with_options(retry_delay_seconds=self.retry_delay)
        return await stage(name, work)


@task(
    name="parse",
    task_run_name="parse {name}",
    tags={"parse"},
    cache_policy=NO_CACHE,
    timeout_seconds=HOUR,
)
async def parse_batch(
    name: str,  # noqa: ARG001 - names the task run
    work: Callable[[], T],
) -> T:
    """Parse one batch of archives."""
    return await asyncio.to_thread(work)


@task(
    name="filter",
    task_run_name="filter {name}",
    tags={"filter"},
    cache_policy=NO_CACHE,
    timeout_seconds=HOUR,
)
async def filter_turns(
    name: str,  # noqa: ARG001 - names the task run
    work: Callable[[], T],
) -> T:
    """Mark noise and render the episodes."""
    return await asyncio.to_thread(work)


@task(
    name="ingest",
    task_run_name="ingest {group}",
    tags={"ingest"},
    cache_policy=NO_CACHE,
    retries=RETRIES,
    retry_delay_seconds=exponential_backoff(backoff_factor=BACKOFF),
    retry_jitter_factor=JITTER,
    retry_condition_fn=is_retryable,
    timeout_seconds=12 * HOUR,
)
async def ingest_group(
    group: GroupId,  # noqa: ARG001 - names the task run
    work: Callable[[], Awaitable[GroupReport]],
) -> GroupReport:
    """Ingest the pending turns of one group; raises `Unfinished` if graph or provider was busy."""
    report = await work()
    if report.retryable:
        raise Unfinished(report.error, report)
    return report
