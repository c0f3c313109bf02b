"""Work in a thread of its own that its caller can cancel."""

import asyncio
import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from turnetl.base.errors import BadUsage
from turnetl.base.progress import Progress, ProgressUpdate
from turnetl.web.live_report import run_in_thread

STEP = ProgressUpdate("report", "turns", 1, 5)


class StoppedWork:
    """Work that a test cancels when it has begun."""

    def __init__(self) -> None:
        self.begun, self.released = threading.Event(), threading.Event()
        self.unblocked = threading.Event()

    async def awaits(self, _: Progress) -> None:
        with self._released_at_the_end():
            await asyncio.sleep(3600)

    async def steps(self, progress: Progress) -> None:
        with self._released_at_the_end():
            while True:
                progress(STEP)

    async def blocks(self, _: Progress) -> None:
        self.begun.set()
        self.unblocked.wait()
        self.released.set()

    @contextmanager
    def _released_at_the_end(self) -> Iterator[None]:
        self.begun.set()
        try:
            yield
        finally:
            self.released.set()


async def cancelled(task: asyncio.Task[None], begun: threading.Event) -> None:
    await asyncio.to_thread(begun.wait)
    problems: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: problems.append(context["message"]))
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()
    gc.collect()
    assert not problems


async def test_the_caller_gets_the_result_and_goes_on_meanwhile() -> None:
    loop, gate = asyncio.get_running_loop(), threading.Event()

    async def work(progress: Progress) -> str:
        progress(STEP)
        gate.wait()
        return "made"

    loop.call_later(0, gate.set)
    assert await run_in_thread(work) == "made"


async def test_the_caller_gets_the_error() -> None:
    async def work(_: Progress) -> None:
        raise BadUsage("no such group")

    with pytest.raises(BadUsage, match="no such group"):
        await run_in_thread(work)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["awaits", "steps"])
async def test_work_whose_caller_is_cancelled_ends_and_releases_what_it_opened(kind: str) -> None:
    work = StoppedWork()
    task = asyncio.create_task(run_in_thread(getattr(work, kind)))
    await cancelled(task, work.begun)
    assert work.released.is_set()


@pytest.mark.full
async def test_a_caller_that_is_cancelled_does_not_wait_for_work_that_does_not_respond() -> None:
    work = StoppedWork()
    task = asyncio.create_task(run_in_thread(work.blocks))
    await cancelled(task, work.begun)
    assert not work.released.is_set()
    work.unblocked.set()
    await asyncio.to_thread(work.released.wait)
