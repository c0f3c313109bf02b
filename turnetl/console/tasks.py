"""The work of a command, which a signal may stop."""

from collections.abc import Coroutine
from contextlib import AbstractContextManager, suppress
from typing import Any, TypeVar

from turnetl.base import stop_signals

T = TypeVar("T")


def run_async(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result.

    The first signal cancels it and waits, so that responses that are paid for are stored. A second
    signal stops the wait.

    Raises:
        KeyboardInterrupt: a signal arrived.
    """
    with stop_signals.current().cancelling() as cancel_by:
        # Takes 50 ms to import, which `--help` must not spend.
        import asyncio

        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            task = loop.create_task(coroutine)

            def cancel() -> None:
                with suppress(RuntimeError):  # the loop is closed: there is nothing to cancel
                    loop.call_soon_threadsafe(task.cancel)

            cancel_by(cancel)
            return loop.run_until_complete(task)


def interruptible() -> AbstractContextManager[None]:
    """Let a signal interrupt the work of the block, which blocks the event loop."""
    return stop_signals.current().blocking()
