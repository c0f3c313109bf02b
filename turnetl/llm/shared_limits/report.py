"""What a process reports to the shared state of limits, and what it is granted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from turnetl.llm.rate_limits import ProviderLimits


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
