"""Work on an event loop in a thread of its own, which ends when its caller is cancelled."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

from turnetl.base.progress import Progress, ProgressUpdate

T = TypeVar("T")

STOP_SECONDS = 2.0
"""Seconds for which a cancelled caller waits for the work to end."""


async def run_in_thread(work: Callable[[Progress], Coroutine[Any, Any, T]]) -> T:
    """Return what work returns, or raise what it raises; other tasks of the caller do not wait.

    If the caller is cancelled, the work is cancelled where it awaits, or at its next step. It is
    waited for a few seconds: what it opened is then closed.

    Args:
        work: called with a function that it calls after each of its steps.
    """
    running = _ThreadWork(work)
    # A daemon: a library that does not respond must not keep the process from ending.
    threading.Thread(target=running.run, name="report", daemon=True).start()
    ended = asyncio.wrap_future(running.result)
    try:
        return await asyncio.shield(ended)
    except asyncio.CancelledError:
        running.stop()
        # Nobody awaits it now: an error that was never retrieved would be written to the log.
        ended.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait([ended], timeout=STOP_SECONDS)
        raise


class _ThreadWork(Generic[T]):
    def __init__(self, work: Callable[[Progress], Coroutine[Any, Any, T]]) -> None:
        self.result = Future[T]()
        self._work = work
        self._is_stopped = False
        self._task: tuple[asyncio.AbstractEventLoop, asyncio.Task[T]] | None = None

    def run(self) -> None:
        """Do the work, in the thread of the caller."""
        try:
            self.result.set_result(asyncio.run(self._run()))
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            self.result.set_exception(error)

    def stop(self) -> None:
        """Cancel the work; called by another thread."""
        self._is_stopped = True
        if self._task is not None:
            loop, task = self._task
            with suppress(RuntimeError):  # the loop is closed: there is nothing to cancel
                loop.call_soon_threadsafe(task.cancel)

    async def _run(self) -> T:
        task = asyncio.ensure_future(self._work(self._advance))
        self._task = asyncio.get_running_loop(), task
        if self._is_stopped:
            task.cancel()
        return await task

    def _advance(self, _: ProgressUpdate) -> None:
        # Steps without an await do not return to the loop that cancels.
        if self._is_stopped:
            raise asyncio.CancelledError
