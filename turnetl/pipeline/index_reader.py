"""The search index, open between requests, and updated beside the process that answers them."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import IndexBusy, IndexUnusable, Retryable, equal_error
from turnetl.base.progress import ProgressUpdate
from turnetl.index.persistent import PersistentIndex
from turnetl.index.session_index import SessionIndex
from turnetl.llm.embedders import Embedder
from turnetl.pipeline.index import OpenIndex, check_graph, current_index, has_turns, repaired
from turnetl.pipeline.opened_items import IndexAnswer
from turnetl.settings import Settings

T = TypeVar("T")

_FIRST_WAIT = 10.0
"""Seconds for which a request waits for an index that has no turns yet."""
_EMBEDDED_INTERVAL = 2.0
"""Seconds between two attempts to read an embedded graph, whose file says that it changed."""
_SERVER_INTERVAL = 30.0
"""Seconds between two questions to a server whether its graph changed."""


@dataclass(slots=True)
class _OpenFiles:
    """The open indexes, and how many requests read them."""

    index: PersistentIndex
    sessions: SessionIndex | None
    readers: int = 0

    def close(self) -> None:
        self.index.close()
        if self.sessions is not None:
            self.sessions.close()


class IndexReader:
    """The index of a graph for the requests of one event loop.

    A request never waits for a writer, if the index has turns. What other processes write to the
    index is read by the next request; what only the graph has is read beside the requests, which
    meanwhile say that the newest turns may be missing. An index that was replaced is opened again.
    """

    def __init__(self, settings: Settings, clock: Clock, embedder: Embedder) -> None:
        self.settings = settings
        self._clock = clock
        self._embedder = embedder
        self._files: _OpenFiles | None = None
        self._update: BackgroundUpdate | None = None
        self._updated_at = 0.0
        """When the last update was started, by the clock of the event loop."""

    async def read(self, work: Callable[[OpenIndex], Awaitable[T]]) -> IndexAnswer[T]:
        """Return what a function reads from the index; it is called again if the index is damaged.

        Raises:
            IndexBusy: the index has no turns yet, or is being replaced: the next request may
                succeed.
        """
        return await repaired(self.settings, lambda: self._read(work), seconds=0)

    async def close(self) -> None:
        if self._update is not None:
            await self._update.stop()
        self._retire()

    async def _read(self, work: Callable[[OpenIndex], Awaitable[T]]) -> IndexAnswer[T]:
        check_graph(self.settings)
        files = await self._readable_files()
        files.readers += 1
        try:
            unread = self._unread()
            opened = OpenIndex(files.index, self._embedder, unread, files.sessions)
            return IndexAnswer(await work(opened), files.index.caught_up_at, unread)
        finally:
            files.readers -= 1
            if files is not self._files and not files.readers:
                files.close()

    async def _readable_files(self) -> _OpenFiles:
        """Return the index; start an update if it is due, and wait for the first turns only."""
        files = self._current_files()
        self._start_update(files)
        update = self._update
        if update is not None and (files is None or not has_turns(files.index)):
            await update.wait(_FIRST_WAIT)
            files = self._current_files()
        if update is not None and update.error is not None:
            is_usable = files is not None and has_turns(files.index)
            if not (is_usable and isinstance(update.error, Retryable)):
                raise equal_error(update.error) from update.error
        if files is None or (self._is_updating and not has_turns(files.index)):
            raise IndexBusy(f"the search index is being made{self._steps()}: ask again in a minute")
        return files

    def _current_files(self) -> _OpenFiles | None:
        """Return the open index; None if there is none. Opens what another process made."""
        if self._files is not None and self._files.index.is_replaced:
            self._retire()
        if self._files is None and wiring.has_index(self.settings):
            self._files = _OpenFiles(wiring.search_index(self.settings, self._embedder), None)
        if self._files is not None and self._files.sessions is None:
            self._files.sessions = wiring.session_index(self.settings, self._embedder)
        return self._files

    def _retire(self) -> None:
        """Close the files, or leave that to the last request that reads them."""
        files, self._files = self._files, None
        if files is not None and not files.readers:
            files.close()

    def _start_update(self, files: _OpenFiles | None) -> None:
        now = asyncio.get_running_loop().time()
        if self._is_updating or not self._is_due(files, now - self._updated_at):
            return
        self._updated_at = now
        self._update = BackgroundUpdate(self.settings, self._clock)

    def _is_due(self, files: _OpenFiles | None, seconds: float) -> bool:
        """Return whether an update is due this long after the start of the last one."""
        if files is None or self._update is None:
            return files is None or not self._is_known_current(files)
        if self._is_known_current(files):
            return self._update.error is not None
        is_embedded = wiring.graph_state(self.settings) is not None
        return seconds >= (_EMBEDDED_INTERVAL if is_embedded else _SERVER_INTERVAL)

    def _is_known_current(self, files: _OpenFiles) -> bool:
        """Return whether the file of an embedded graph is as it was when the index read it."""
        state = wiring.graph_state(self.settings)
        return state is not None and state == files.index.recorded("graph_state")

    @property
    def _is_updating(self) -> bool:
        return self._update is not None and self._update.is_running

    def _unread(self) -> str | None:
        """Return why the newest turns may be missing; None if they are not."""
        update = self._update
        if update is None:
            return None
        if update.is_running:
            is_embedded = wiring.graph_state(self.settings) is not None
            if is_embedded or update.progress is not None:
                return f"the search index is being brought up to date{self._steps()}"
            return None
        return str(update.error) if update.error is not None else update.unread

    def _steps(self) -> str:
        step = self._update.progress if self._update is not None else None
        return "" if step is None else f" ({step.done:,} of {step.total:,} {step.name})"


@asynccontextmanager
async def open_index_reader(settings: Settings, clock: Clock) -> AsyncIterator[IndexReader]:
    async with wiring.embedder(settings) as embedder:
        reader = IndexReader(settings, clock, embedder)
        try:
            yield reader
        finally:
            await reader.close()


_STOP = 5.0
"""Seconds for which the end of a process waits for an update: a killed one loses no turn."""


class BackgroundUpdate:
    """An update in a thread with its own event loop: embedding would block that of the caller.

    Every method is for the caller's event loop.
    """

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._caller = asyncio.get_running_loop()
        self._is_stopped = False
        self._ended = asyncio.Event()
        self._work: tuple[asyncio.AbstractEventLoop, asyncio.Task[str | None]] | None = None
        self.progress: ProgressUpdate | None = None
        """The last step; None before the first turns are read."""
        self.unread: str | None = None
        """Why the graph could not be read, so that its newest turns may be missing."""
        self.error: Exception | None = None
        """Why the update failed."""
        # A daemon: a library that does not respond must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="index-update", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return not self._ended.is_set()

    async def wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), seconds)

    async def stop(self) -> None:
        """Stop the update after its present step; wait for that for a few seconds."""
        self._is_stopped = True
        if self._work is not None:
            loop, task = self._work
            with suppress(RuntimeError):  # the loop is closed: there is nothing to cancel
                loop.call_soon_threadsafe(task.cancel)
        await self.wait(_STOP)

    def _run(self) -> None:
        unread: str | None = None
        error: Exception | None = None
        try:
            unread = asyncio.run(self._update())
        except BaseException as failure:  # noqa: BLE001 - the next read of the index raises it
            error = self._error(failure)
        finally:
            with suppress(RuntimeError):  # the process ends: nobody waits
                self._caller.call_soon_threadsafe(self._end, unread, error)

    def _error(self, failure: BaseException) -> Exception | None:
        """Return why the update failed; None if it was stopped."""
        if isinstance(failure, Exception):
            return failure
        if self._is_stopped and isinstance(failure, asyncio.CancelledError):
            return None
        # Such as the panic of a library in Rust: raised as it is, it would end the process.
        error = IndexUnusable(
            f"the update of the search index ended unexpectedly ({failure!r}): run "
            "`turnetl index`, or `turnetl index --rebuild` if that fails too"
        )
        error.__cause__ = failure
        return error

    def _end(self, unread: str | None, error: Exception | None) -> None:
        self.unread, self.error = unread, error
        self._ended.set()

    async def _update(self) -> str | None:
        task = asyncio.ensure_future(repaired(self._settings, self._bring_up_to_date))
        self._work = asyncio.get_running_loop(), task
        if self._is_stopped:
            task.cancel()
        return await task

    async def _bring_up_to_date(self) -> str | None:
        async with current_index(self._settings, self._clock, self._advance) as opened:
            return opened.unread

    def _advance(self, step: ProgressUpdate) -> None:
        # The steps of an embedder on this machine do not return to the loop that cancels.
        if self._is_stopped:
            raise asyncio.CancelledError
        self.progress = step
