"""Work that is repeated while another process is busy."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


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
