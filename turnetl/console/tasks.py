"""Coroutines of a command, which may be interrupted."""

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # asyncio takes 50 ms to import, which `--help` must not spend
    from asyncio import AbstractEventLoop, Task

T = TypeVar("T")


def run_async(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result.

    The first interrupt cancels it and waits, so that responses that are paid for are stored. A
    second interrupt stops the wait.
    """
    import asyncio

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except KeyboardInterrupt as interrupt:
            _cancel(task, loop, interrupt)
            raise


def _cancel(task: "Task[Any]", loop: "AbstractEventLoop", interrupt: KeyboardInterrupt) -> None:
    """Cancel a task and wait until it ends, or until a second interrupt."""
    task.cancel()
    while not task.done():
        try:
            loop.run_until_complete(task)
        except KeyboardInterrupt as error:
            # An interrupt that was raised in a task is raised again by every task that awaits it.
            if error is not interrupt:
                return
        except BaseException:  # noqa: BLE001 - the process stops, even if more failed
            return
