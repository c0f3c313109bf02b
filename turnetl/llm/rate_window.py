"""Sliding windows of one minute: requests, and the tokens of requests and responses."""

import math
from collections import deque
from dataclasses import dataclass

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
