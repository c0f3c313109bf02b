"""Keep the search index up to date while turns are ingested, and after turns were undone."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import Fatal, Retryable
from turnetl.base.progress import Progress
from turnetl.graph.port import GraphStore
from turnetl.index.files import DamagedIndex
from turnetl.llm.meter import Meter
from turnetl.pipeline.index import (
    OpenIndex,
    current_index,
    forget_replaced_data,
    open_repaired,
    state_cost,
)
from turnetl.settings import Settings

log = logging.getLogger(__name__)

_INTERVAL = 60.0
"""Seconds between two updates while a group is ingested."""


async def update_existing_index(settings: Settings, clock: Clock, progress: Progress) -> None:
    """Bring the index up to date with the graph if there is one; log what it fails of."""
    if wiring.has_index(settings):
        with _never_failing():
            async with current_index(settings, clock, progress):
                pass


class IndexUpdates:
    """Updates of the index during a run: after each group, and from time to time.

    An index that cannot be updated never fails a run: a warning says why, and what to do.
    """

    def __init__(
        self, settings: Settings, clock: Clock, store: GraphStore, meter: Meter | None
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._store = store
        self._meter = meter
        self._is_due = asyncio.Event()
        self._is_ended = False
        self._has_commits = False
        self._has_stated_cost = False
        self._has_failed = False
        self._is_current = False

    def committed(self) -> None:
        """Update soon: turns were committed."""
        self._has_commits = True
        self._is_due.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Update the index in the background during the block, and once more at its end."""
        task = asyncio.create_task(self._run())
        try:
            yield
        except BaseException:
            task.cancel()
            raise
        finally:
            # A driver may turn a cancellation into an error of its own.
            self._is_ended = True
            self._is_due.set()
            await asyncio.wait([task])
        if self._has_commits:
            await self._update()

    async def finish(self) -> None:
        """Record that the index holds everything in the graph, which was just closed."""
        if self._has_commits and self._is_current:
            with _never_failing(self._stop):
                async with current_index(self._settings, self._clock, meter=self._meter):
                    pass

    async def _run(self) -> None:
        while not self._is_ended:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_due.wait(), _INTERVAL)
            self._is_due.clear()
            if not self._is_ended:
                await self._update()

    async def _update(self) -> None:
        self._is_current = False
        if self._has_failed:
            return
        with _never_failing(self._stop):
            async with wiring.embedder(self._settings, meter=self._meter) as embedder:
                with await open_repaired(self._settings, embedder, seconds=0) as index:
                    opened = OpenIndex(index, embedder)
                    # Once: the cost may include turns of earlier runs.
                    if not self._has_stated_cost:
                        self._has_stated_cost = True
                        await state_cost(opened, self._store, self._settings, self._clock)
                    migrations = await self._store.migration_summaries()
                    await forget_replaced_data(opened, self._store, self._settings, migrations)
                    await index.catch_up(self._store, embedder, now=self._clock())
                    self._is_current = True

    def _stop(self) -> None:
        self._has_failed = True


@contextmanager
def _never_failing(on_failure: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Log an exception: the graph is as it should be, whatever happens to the index.

    `on_failure` is called if a repetition would fail too.
    """
    try:
        yield
    except Retryable as error:
        log.info("the search index was not updated", exc_info=error)
    except Exception as error:
        on_failure()
        log.warning("the search index was not updated: %s", _reason(error))
        log.debug("the search index was not updated", exc_info=error)


def _reason(error: Exception) -> str:
    """Return the reason and the remedy: the next search, unless the error names another."""
    if isinstance(error, DamagedIndex):
        return f"{error.damage}; the next search rebuilds it"
    if isinstance(error, Fatal):
        return str(error)
    return f"{error}; the next search tries again"
