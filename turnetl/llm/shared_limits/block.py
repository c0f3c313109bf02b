"""The block of a process: what it may start until its next exchange, and what it used."""

from collections.abc import Callable, Mapping

from turnetl.llm.shared_limits.report import Grant
from turnetl.llm.shared_limits.state import bucket


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
