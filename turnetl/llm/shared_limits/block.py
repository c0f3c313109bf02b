"""The block of a process: what it may start until its next exchange, and what it used."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from turnetl.llm.rate_limits import ProviderLimits, TokenEstimate
from turnetl.llm.shared_limits.store import bucket


@dataclass(frozen=True, slots=True)
class Report:
    """What a process did since its last exchange, and what it needs. It returns its last block."""

    owner: str
    """The process; unique."""
    batch: int
    """Number of `started` and `tokens`. One that failed is reported again with its number: it may
    have arrived."""
    limits: ProviderLimits
    """The settings of the process."""
    usage: Mapping[int, tuple[int, int]]
    """Requests that were started and tokens, by bucket of the time. Tokens may be negative: the
    estimate was too high."""
    in_flight: int
    slots: int
    """Requests in flight that it wants, with those that are."""
    waiting: int
    """Requests that wait."""
    expected: int
    """Requests that it may start before its next exchange, besides those that wait."""
    head_tokens: int
    """Tokens of the request that is next."""
    mean_tokens: int
    """Tokens of a request, on average."""
    request_seconds: float
    """A request is in flight for this time at most."""
    leaving: bool = False
    """It needs nothing any more. None of its requests is in flight."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a process may do until its next exchange. Times are those of the state, in seconds."""

    time: float
    """Of the exchange."""
    until: float
    """No request may be started after it."""
    requests: int
    """Requests that may be started."""
    tokens: int
    """Tokens that they may use."""
    slots: int
    """Requests that may be in flight; may be fewer than there are."""
    limits: ProviderLimits
    """The limits that hold: the lowest of all processes."""
    is_met: bool
    """Whether it gets all requests that it wanted: when they are used, there may be more."""
    pause: float
    """Seconds after which another exchange may give more."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Constants of an exchange; a test may use a shorter minute."""

    window: float
    """Seconds for which a request counts."""
    burst: float
    """Share of the window's requests that may start without spacing."""
    is_dead: Callable[[str], bool]
    """Called with an owner; True if its process is known to have ended."""


class Block:
    """Requests, tokens and slots of the last grant, less what was used."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Hold nothing.

        Args:
            clock: monotonic seconds.
        """
        self._clock = clock
        self.grant: Grant | None = None
        """The last one; None while an exchange is under way or after one that failed."""
        self.granted_at = 0.0
        """On the clock of this process."""
        self.is_new = True
        """Whether there was no grant yet: the time of the state is not known."""
        self._state_time = 0.0
        """The time of the state at `granted_at`."""
        self._requests = 0
        self._tokens = 0
        self._usage: dict[int, tuple[int, int]] = {}
        self._batch = 0
        self._reported: dict[int, tuple[int, int]] | None = None
        """Usage in an exchange that is under way or failed."""

    @property
    def slots(self) -> int:
        return self.grant.slots if self.grant is not None else 0

    def allows(self, tokens: int) -> bool:
        """Return whether a request with so many tokens may start now."""
        if self.grant is None or self._requests < 1 or self._tokens < tokens:
            return False
        return self._clock() - self.granted_at < self.grant.until - self.grant.time

    def take(self, tokens: int) -> float:
        """Use a request and its tokens; return the time on the clock of the state."""
        self._requests -= 1
        self._tokens -= tokens
        at = self.time(self._clock())
        self.add_usage(at, 1, tokens)
        return at

    def add_usage(self, at: float, requests: int, tokens: int) -> None:
        """Add to what the next exchange reports; tokens may be negative."""
        counted, used = self._usage.get(bucket(at), (0, 0))
        self._usage[bucket(at)] = (counted + requests, used + tokens)

    def time(self, now: float) -> float:
        """Return the time of the state for one of this process's clock."""
        return self._state_time + now - self.granted_at

    def give_back(self) -> tuple[int, Mapping[int, tuple[int, int]]]:
        """Hold nothing any more; return what was used, and the number of this batch.

        What an exchange reported that failed is returned again, with its number: it may have
        arrived.
        """
        self.grant = None
        self._requests = self._tokens = 0
        if self._reported is None:
            self._batch += 1
            self._reported, self._usage = self._usage, {}
        return self._batch, self._reported

    def replace(self, grant: Grant, at: float) -> None:
        """Hold what was granted.

        Args:
            grant: the block.
            at: time of the exchange on this process's clock.
        """
        self._reported = None
        self.grant, self.granted_at, self.is_new = grant, at, False
        self._state_time = grant.time
        self._requests, self._tokens = grant.requests, grant.tokens


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
