"""Work that is repeated while something else is busy."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class Patience:
    """Pauses of one length until a time is up, which begins with the first of them."""

    def __init__(self, seconds: float, interval: float) -> None:
        """Begin no pause yet.

        Args:
            seconds: all pauses together, with the work between them; 0: none.
            interval: of one pause.
        """
        self.left = seconds
        """Seconds that are left."""
        self._interval = interval

    def __iter__(self) -> Iterator[float]:
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.left
        while (left := deadline - clock()) > 0:
            self.left = left
            yield min(self._interval, left)


async def repeat_until(
    work: Callable[[], Awaitable[T]],
    pauses: Iterable[float],
    *,
    busy: type[Exception],
    on_busy: Callable[[Exception], None] = lambda _: None,
) -> T:
    """Return the result of work; repeat it, after each pause in turn, until it is not busy.

    Args:
        work: may be done again after it raised `busy`.
        pauses: seconds before each repetition; after the last one the error is raised.
        busy: the error that says that another attempt may succeed.
        on_busy: called with that error before each pause.
    """
    remaining: Iterator[float] | None = None
    while True:
        try:
            return await work()
        except busy as error:
            remaining = remaining or iter(pauses)
            pause = next(remaining, None)
            if pause is None:
                raise
            on_busy(error)
        await asyncio.sleep(pause)
