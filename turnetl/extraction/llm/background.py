"""Calls that are begun early, and waited for where their answer is needed.

One that nobody waits for any more goes on: it is paid for, and the journal keeps its answer.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class Background:
    """What is under way."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def begin(self, work: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
        """Begin the work now. Its failure is raised to whoever waits for it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    async def clear(self) -> None:
        """Break off what is still under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        # Asyncio complains of a failure that nobody saw, though nobody needs it any more.
        if not task.cancelled():
            task.exception()
