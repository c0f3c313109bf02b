"""Calls in threads that do not hold up Ctrl-C.

In the main thread, a call of the object store's library handles no signal until the request is
over, and an executor is waited for at exit. Here the main thread waits, and the others end with the
process.
"""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from turnetl.base import stop_signals

_PATIENCE = 2.0
"""Seconds of waiting after which a signal interrupts: most requests end in that time."""

_Results = queue.SimpleQueue[tuple[int, Any, BaseException | None]]
T = TypeVar("T")
Item = TypeVar("Item")


def interruptible(call: Callable[[], T]) -> T:
    """Return what a call returns. An interrupt ends the wait, and not the call."""
    if threading.current_thread() is not threading.main_thread():
        return call()
    (result,) = in_parallel(lambda _: call(), [None], 1)
    return result


def in_parallel(function: Callable[[Item], T], items: Sequence[Item], threads: int) -> list[T]:
    """Return what a function, called in so many threads, returns for each item, in their order.

    After an error no further call starts, and the error is raised when those that run have ended.
    """
    pending: queue.SimpleQueue[tuple[int, Item]] = queue.SimpleQueue()
    for numbered in enumerate(items):
        pending.put(numbered)
    done: _Results = queue.SimpleQueue()
    stopped = threading.Event()
    arguments = (function, pending, done, stopped)
    workers = [threading.Thread(target=_work, args=arguments, daemon=True) for _ in items[:threads]]
    for worker in workers:
        worker.start()
    results: dict[int, T] = {}
    try:
        for _ in items:
            position, result, error = _next(done)
            if error is not None:
                for worker in workers:
                    worker.join()
                raise error
            results[position] = result
    finally:
        stopped.set()
    return [results[position] for position in range(len(items))]


def _work(
    function: Callable[[Item], object],
    pending: "queue.SimpleQueue[tuple[int, Item]]",
    done: _Results,
    stopped: threading.Event,
) -> None:
    while not stopped.is_set():
        try:
            position, item = pending.get_nowait()
        except queue.Empty:
            return
        try:
            done.put((position, function(item), None))
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
            stopped.set()
            done.put((position, None, error))


def _next(done: _Results) -> tuple[int, Any, BaseException | None]:
    """Return the next result; an interrupt that arrived ends a long wait."""
    while True:
        try:
            return done.get(timeout=_PATIENCE)
        except queue.Empty:
            if threading.current_thread() is threading.main_thread():
                # A signal that cancels an event loop waits for the loop, which waits here.
                with stop_signals.current().blocking():
                    pass
