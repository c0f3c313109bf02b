"""One update of the search index beside the event loop of a process that answers requests."""

import asyncio
import threading
from contextlib import suppress

from turnetl.base.clock import Clock
from turnetl.base.errors import IndexUnusable
from turnetl.base.progress import ProgressUpdate
from turnetl.pipeline.index import current_index
from turnetl.pipeline.index_repair import repaired
from turnetl.settings import Settings

_STOP = 5.0
"""Seconds for which the end of a process waits for an update: a killed one loses no turn."""


class BackgroundUpdate:
    """An update in a thread with its own event loop: embedding would block that of the caller.

    Every method is for the caller's event loop.
    """

    def __init__(self, settings: Settings, clock: Clock) -> None:
        """Start the update.

        Args:
            settings: the graph, its index and its embedder.
            clock: returns the current time.
        """
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
        """Wait until the update ended, but not longer than this."""
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
