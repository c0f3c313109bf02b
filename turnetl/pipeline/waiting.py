"""Wait while another process writes the search index."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from turnetl.errors import IndexBusy

T = TypeVar("T")

log = logging.getLogger(__name__)

WAIT = 600.0
"""Seconds for which a user waits for another process rather than for nothing."""
_INTERVAL = 0.2


async def after_other_writers(
    work: Callable[[], Awaitable[T]], *, seconds: float = WAIT, interval: float = _INTERVAL
) -> T:
    """Return the result of work; repeat it while another process writes the index.

    Args:
        work: changes nothing before it raises `IndexBusy`.
        seconds: after which the work is not repeated any more.
        interval: seconds between two attempts.

    Raises:
        IndexBusy: another process still writes the index.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    has_told = False
    while True:
        try:
            return await work()
        except IndexBusy as error:
            if asyncio.get_running_loop().time() >= deadline:
                raise
            if not has_told:
                log.warning(
                    "%s: this command waits for up to %d minutes; Ctrl-C stops it",
                    error,
                    seconds // 60,
                )
                has_told = True
        await asyncio.sleep(interval)
