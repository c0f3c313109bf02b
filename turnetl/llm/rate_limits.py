"""The limits that a limiter keeps, and the port behind it: this process's own, or shared ones."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from turnetl.llm.rate_window import Admission, RequestWindow, TokenWindow
from turnetl.llm.retry import Sleep


@dataclass(frozen=True, slots=True)
class ProviderLimits:
    """What a provider allows. None: no limit."""

    requests_per_minute: int | None
    """In any 60 s."""
    tokens_per_minute: int | None
    """Of requests and responses."""
    concurrency: int
    """Requests in flight."""


class AdmissionLimits(Protocol):
    """Decides when the next request may be sent. A limiter calls `acquire` one at a time."""

    async def acquire(self, characters: int, waiting: Callable[[], int]) -> None:
        """Wait until a request of that size is within all limits, and hold a slot for it.

        Args:
            characters: of the request.
            waiting: returns the number of requests that wait to be sent, with this one.

        Raises:
            ModelBusy: the limits are not known at the moment; a retry may help.
            ModelUnusable: they cannot be known until the user acts.
        """

    def start(self, characters: int) -> Admission:
        """Count the request that holds the slot as sent now."""

    def release(self) -> None:
        """Release the slot of a request that was answered, or of one that is not sent."""

    def settle(self, admission: Admission, tokens: int) -> None:
        """Replace the estimate of a request with the tokens it used."""


class OwnLimits:
    """The limits of one process."""

    def __init__(
        self,
        limits: ProviderLimits,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """Start with empty windows.

        Args:
            limits: of all requests of the process.
            clock: monotonic seconds.
            sleep: waits for a number of seconds.
        """
        self._requests = RequestWindow(limits.requests_per_minute)
        self._tokens = TokenWindow(limits.tokens_per_minute)
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._clock = clock
        self._sleep = sleep

    async def acquire(self, characters: int, waiting: Callable[[], int]) -> None:  # noqa: ARG002 - of the port
        """Wait for a slot, then for the limits per minute."""
        await self._slots.acquire()
        try:
            await self._wait_for_rate(characters)
        except BaseException:
            self._slots.release()
            raise

    def start(self, characters: int) -> Admission:
        now = self._clock()
        self._requests.take(now)
        return self._tokens.take(characters, now)

    def release(self) -> None:
        self._slots.release()

    def settle(self, admission: Admission, tokens: int) -> None:
        self._tokens.settle(admission, tokens)

    async def _wait_for_rate(self, characters: int) -> None:
        """Wait until one more request stays within the limits per minute."""
        while True:
            now = self._clock()
            free_at = max(self._requests.free_at(now), self._tokens.free_at(characters, now))
            if free_at <= now:
                return
            await self._sleep(free_at - now)
