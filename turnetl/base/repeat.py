"""Work that is repeated while another process writes, the search index or the graph."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TypeVar

from turnetl.base.errors import IndexBusy, Retryable

T = TypeVar("T")

log = logging.getLogger(__name__)

WAIT = 600.0
"""Seconds for which a user waits for another process rather than for nothing."""
_INTERVAL = 0.2
_FEW_MINUTES = 180
"""Seconds, up to which a time is told in seconds."""


class FixedDelays:
    """Delays of one length until a timeout, which starts with the first of them."""

    def __init__(self, timeout: float, interval: float) -> None:
        """Start no delay yet; `timeout` seconds are for all delays and attempts, 0: no delay."""
        self.remaining = timeout
        """Seconds until the timeout."""
        self._interval = interval

    def __iter__(self) -> Iterator[float]:
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.remaining
        while (remaining := deadline - clock()) > 0:
            self.remaining = remaining
            yield min(self._interval, remaining)


async def repeat_until(
    work: Callable[[], Awaitable[T]],
    delays: Iterable[float],
    *,
    busy: type[Exception],
    on_busy: Callable[[Exception], None] = lambda _: None,
) -> T:
    """Return the result of work; repeat it after each delay until it does not raise `busy`.

    After the last delay the error is raised. `on_busy` is called with it before each delay.
    """
    left: Iterator[float] | None = None
    while True:
        try:
            return await work()
        except busy as error:
            left = left or iter(delays)
            delay = next(left, None)
            if delay is None:
                raise
            on_busy(error)
        await asyncio.sleep(delay)


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
