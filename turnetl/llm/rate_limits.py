"""The limits that a limiter keeps, and the port behind it: this process's own, or shared ones."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from turnetl.llm.retry import Sleep

WINDOW = 61.5
"""Seconds. Requests sent within 60 s may arrive closer together: network latency varies."""
BURST = 0.1
"""Share of a minute's requests that may start without spacing. The rest is spaced evenly, for
providers that also enforce limits per second."""
_TOKENS_PER_CHARACTER = 0.3
"""Initial estimate, until responses report token counts."""
_LEARNING_RATE = 0.1


@dataclass
class Admission:
    """The tokens of one request, counted from its start."""

    at: float
    characters: int
    tokens: float
    in_window: bool = True
    """It started within the window."""


class TokenEstimate:
    """The tokens of a request and its response by its characters, as in the responses so far."""

    def __init__(self) -> None:
        self._tokens_per_character = _TOKENS_PER_CHARACTER

    def tokens(self, characters: int) -> float:
        """Return the estimate for a request of that size."""
        return characters * self._tokens_per_character

    def learn(self, characters: int, tokens: int) -> None:
        """Adapt to the tokens of a response and its request."""
        if characters:
            observed = tokens / characters
            self._tokens_per_character += _LEARNING_RATE * (observed - self._tokens_per_character)


class RequestWindow:
    """Limits the requests per minute."""

    def __init__(self, per_minute: int | None) -> None:
        self._limit = per_minute
        self._starts: deque[float] = deque(maxlen=per_minute)
        self._spaced_start = -math.inf
        """When the next request would start if all were spaced evenly."""

    def free_at(self, now: float) -> float:
        if self._limit is None:
            return now
        spaced = self._spaced_start - WINDOW * BURST
        return max(spaced, self._starts[0] + WINDOW if len(self._starts) == self._limit else now)

    def take(self, now: float) -> None:
        if self._limit is None:
            return
        self._starts.append(now)
        self._spaced_start = max(self._spaced_start, now) + WINDOW / self._limit


class TokenWindow:
    """Limits the tokens per minute, by an estimate that adapts to the reported counts."""

    def __init__(self, per_minute: int | None) -> None:
        self._limit = per_minute
        self._admissions: deque[Admission] = deque()
        self._sum = 0.0
        """Running total: a window may hold thousands of admissions."""
        self._estimate = TokenEstimate()

    def free_at(self, characters: int, now: float) -> float:
        """Return when a request fits; one above the limit itself waits for an empty window."""
        if self._limit is None:
            return now
        self._expire(now)
        excess = self._sum + self._estimate.tokens(characters) - self._limit
        free = now
        for admission in self._admissions:
            if excess <= 0:
                break
            excess -= admission.tokens
            free = admission.at + WINDOW
        return free

    def take(self, characters: int, now: float) -> Admission:
        admission = Admission(now, characters, self._estimate.tokens(characters))
        if self._limit is not None:
            self._admissions.append(admission)
            self._sum += admission.tokens
        return admission

    def settle(self, admission: Admission, tokens: int) -> None:
        if not tokens:
            return
        if admission.in_window:
            self._sum += tokens - admission.tokens
        admission.tokens = tokens
        self._estimate.learn(admission.characters, tokens)

    def _expire(self, now: float) -> None:
        while self._admissions and self._admissions[0].at + WINDOW <= now:
            expired = self._admissions.popleft()
            expired.in_window = False
            self._sum -= expired.tokens


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
