"""How the pipeline runs its units of work: in this process, or as tasks of a scheduler.

The pipeline decides what is done and in which order; an executor only decides how one unit is run,
and how often after a failure that may pass. The graph, not the executor, records what is done.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from turnetl.base.model import GroupId
from turnetl.ingestion.ingest_report import GroupReport

T = TypeVar("T")


class Stage(StrEnum):
    """A stage of the pipeline, in order."""

    PARSE = "parse"
    FILTER = "filter"
    INGEST = "ingest"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of work, as an executor may name it."""

    stage: Stage
    name: str


class Executor(Protocol):
    """Runs units of work."""

    @property
    def batch_size(self) -> int | None:
        """Archives in one unit of parsing; None: all of them."""
        ...

    def ingesting(self) -> AbstractAsyncContextManager[None]:
        """Enter around the ingest of all groups, for example to reserve slots of a model."""
        ...

    async def run_blocking(self, unit: Unit, work: Callable[[], T]) -> T:
        """Run work that reads archives and writes tables, and return its result."""
        ...

    async def run_group(
        self, group: GroupId, work: Callable[[], Awaitable[GroupReport]]
    ) -> GroupReport:
        """Run the ingest of one group.

        An executor that retries runs the work again while the report says that a retry may succeed,
        and returns the last report.
        """
        ...

    async def run_stage(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
        """Run work that is one stage.

        An executor that retries runs the work again after it raised `Retryable`, and raises that
        error after the last attempt.
        """
        ...


@dataclass(frozen=True, slots=True)
class InProcess:
    """Runs every unit once, in this process; blocking work blocks the event loop.

    Blocking work stays in the main thread, so that Ctrl-C interrupts it.
    """

    blocking: Callable[[], AbstractContextManager[None]] = nullcontext
    """Entered around blocking work."""

    @property
    def batch_size(self) -> int | None:
        return None

    @asynccontextmanager
    async def ingesting(self) -> AsyncIterator[None]:
        yield

    async def run_blocking(self, _unit: Unit, work: Callable[[], T]) -> T:
        with self.blocking():
            return work()

    async def run_group(
        self, _group: GroupId, work: Callable[[], Awaitable[GroupReport]]
    ) -> GroupReport:
        return await work()

    async def run_stage(self, _name: str, work: Callable[[], Awaitable[T]]) -> T:
        return await work()
