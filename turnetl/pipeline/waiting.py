"""Wait while another process writes the search index or the graph."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from turnetl.base.errors import IndexBusy, Retryable

T = TypeVar("T")

log = logging.getLogger(__name__)

WAIT = 600.0
"""Seconds for which a user waits for another process rather than for nothing."""
_INTERVAL = 0.2
_FEW_MINUTES = 180
"""Seconds, up to which a time is told in seconds."""


async def after_other_writers(
    work: Callable[[], Awaitable[T]],
    *,
    seconds: float = WAIT,
    interval: float = _INTERVAL,
    busy: type[Retryable] = IndexBusy,
) -> T:
    """Return the result of work; repeat it while another process writes the same.

    Args:
        work: changes nothing before it raises `busy`.
        seconds: after which the work is not repeated any more.
        interval: seconds between two attempts.
        busy: the error that means that another process writes.

    Raises:
        Retryable: `busy`: another process still writes.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    has_told = False
    while True:
        try:
            return await work()
        except busy as error:
            if asyncio.get_running_loop().time() >= deadline:
                raise
            if not has_told:
                tell(log, error, seconds)
                has_told = True
        await asyncio.sleep(interval)


def tell(logger: logging.Logger, reason: object, seconds: float) -> None:
    """Warn that this command waits, and for how long."""
    time = f"{seconds:.0f} s" if seconds < _FEW_MINUTES else f"{seconds // 60:.0f} minutes"
    logger.warning("%s: this command waits for up to %s; Ctrl-C stops it", reason, time)
