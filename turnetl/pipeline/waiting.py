"""Wait while another process writes the search index or the graph."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from turnetl.base.errors import IndexBusy, Retryable
from turnetl.base.repeat import FixedDelays, repeat_until

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
    busy: type[Retryable] = IndexBusy,
) -> T:
    """Return the result of work; repeat it if it raises `busy`, before which it changes nothing."""
    told: list[Exception] = []

    def tell_once(error: Exception) -> None:
        if not told:
            tell(log, error, seconds)
            told.append(error)

    delays = FixedDelays(seconds, _INTERVAL)
    return await repeat_until(work, delays, busy=busy, on_busy=tell_once)


def tell(logger: logging.Logger, reason: object, seconds: float) -> None:
    """Warn that this command waits, and for how long."""
    time = f"{seconds:.0f} s" if seconds < _FEW_MINUTES else f"{seconds // 60:.0f} minutes"
    logger.warning("%s: this command waits for up to %s; Ctrl-C stops it", reason, time)
