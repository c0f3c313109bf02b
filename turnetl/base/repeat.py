"""Work that is repeated while another process is busy."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class FixedDelays:
    """Delays of one length until a timeout, which starts with the first of them."""

    def __init__(self, timeout: float, interval: float) -> None:
        """Start no delay yet.

        Args:
            timeout: seconds for all delays and the attempts between them; 0: no delay.
            interval: seconds of one delay.
        """
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

    Args:
        work: may be repeated after it raised `busy`.
        delays: seconds before each repetition; after the last one the error is raised.
        busy: the error after which another attempt may succeed.
        on_busy: called with that error before each delay.
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
