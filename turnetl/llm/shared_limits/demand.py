"""What a process needs: requests that wait, requests in flight, and those that may come."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from turnetl.llm.rate_window import TokenEstimate
from turnetl.llm.shared_limits.report import Report

_LEARNING_RATE = 0.1


class Demand:
    """The requests of a process."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.reported_in_flight = 0
        """As of the last exchange."""
        self._most_in_flight = 0
        """Since the last exchange."""
        self._started = 0
        """Since the last exchange."""
        self._expected = 0
        self._estimate = TokenEstimate()
        self._mean_tokens: float | None = None
        self._head: int | None = None
        """Characters of the request that waits."""
        self._waiting: Callable[[], int] = int

    @property
    def is_waiting(self) -> bool:
        return self._head is not None

    @property
    def is_idle(self) -> bool:
        """Whether nothing was sent since the last exchange, and nothing waits or is in flight."""
        return not (self.is_waiting or self.in_flight or self._started)

    @property
    def waiting(self) -> int:
        return max(self._waiting(), int(self.is_waiting))

    @property
    def slots(self) -> int:
        return max(self.in_flight + self.waiting, self._most_in_flight)

    @property
    def expected(self) -> int:
        """Twice as many as since the last exchange: a process that gets faster is not held up."""
        return max(2 * self._started, self._expected // 2)

    @property
    def head_tokens(self) -> int:
        """Tokens of the request that waits, or of an average one."""
        return self._tokens(self._head) if self._head is not None else self.mean_tokens

    @property
    def mean_tokens(self) -> int:
        if self._mean_tokens is None:
            return self._tokens(self._head or 0)
        return math.ceil(self._mean_tokens)

    @contextmanager
    def head(self, characters: int, waiting: Callable[[], int]) -> Iterator[None]:
        """Note that a request waits; arguments as of `AdmissionLimits.acquire`."""
        self._head, self._waiting = characters, waiting
        try:
            yield
        finally:
            self._head = None

    def hold(self) -> None:
        """Count the request that waited as in flight."""
        self.in_flight += 1
        self._most_in_flight = max(self._most_in_flight, self.in_flight)

    def start(self, characters: int) -> int:
        """Count a request as started; return the estimate of its tokens."""
        self._started += 1
        tokens = self._tokens(characters)
        mean = self._mean_tokens
        self._mean_tokens = tokens if mean is None else mean + _LEARNING_RATE * (tokens - mean)
        return tokens

    def release(self) -> None:
        self.in_flight -= 1

    def learn(self, characters: int, tokens: int) -> None:
        self._estimate.learn(characters, tokens)

    def exchanged(self, report: Report) -> None:
        """Begin to count again after an exchange."""
        self._expected, self._started = report.expected, 0
        self.reported_in_flight = report.in_flight
        self._most_in_flight = self.in_flight

    def _tokens(self, characters: int) -> int:
        return math.ceil(self._estimate.tokens(characters))
