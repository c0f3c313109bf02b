"""What was begun in the last minute: requests, and the tokens of requests and answers."""

import math
from collections import deque
from dataclasses import dataclass

_MINUTE = 61.5
"""Seconds. What left within 60 s may arrive within less: some travel faster than others."""
_BURST = 0.1
"""Of a minute's requests, as many may leave at once; the rest follows evenly, for providers that
look at seconds."""
_TOKENS_A_CHARACTER = 0.3
"""Until answers have shown better."""
_LEARN = 0.1


@dataclass
class Admission:
    """Tokens of one call, in the minute of its beginning."""

    at: float
    characters: int
    tokens: float
    counts: bool = True
    """It began within the last minute."""


class RequestWindow:
    """When the next may begin."""

    def __init__(self, per_minute: int | None) -> None:
        self._most = per_minute
        self._begun: deque[float] = deque(maxlen=per_minute)
        self._even = -math.inf
        """When the next would begin if all were as far apart as can be."""

    def free_at(self, now: float) -> float:
        if self._most is None:
            return now
        ahead = self._even - _MINUTE * _BURST
        return max(ahead, self._begun[0] + _MINUTE if len(self._begun) == self._most else now)

    def take(self, now: float) -> None:
        if self._most is None:
            return
        self._begun.append(now)
        self._even = max(self._even, now) + _MINUTE / self._most


class TokenWindow:
    """When a request of a size may begin: by an estimate that learns from answers."""

    def __init__(self, per_minute: int | None) -> None:
        self._most = per_minute
        self._taken: deque[Admission] = deque()
        self._sum = 0.0
        """Of them: thousands are too many to add up at every call."""
        self._a_character = _TOKENS_A_CHARACTER

    def free_at(self, characters: int, now: float) -> float:
        """Return when so much fits; more than a minute's worth waits until all else is over."""
        if self._most is None:
            return now
        self._forget(now)
        over = self._sum + self._of(characters) - self._most
        free = now
        for one in self._taken:
            if over <= 0:
                break
            over -= one.tokens
            free = one.at + _MINUTE
        return free

    def take(self, characters: int, now: float) -> Admission:
        taken = Admission(now, characters, self._of(characters))
        if self._most is not None:
            self._taken.append(taken)
            self._sum += taken.tokens
        return taken

    def settle(self, taken: Admission, tokens: int) -> None:
        if not tokens:
            return
        if taken.counts:
            self._sum += tokens - taken.tokens
        taken.tokens = tokens
        if taken.characters:
            self._a_character += _LEARN * (tokens / taken.characters - self._a_character)

    def _forget(self, now: float) -> None:
        while self._taken and self._taken[0].at + _MINUTE <= now:
            over = self._taken.popleft()
            over.counts = False
            self._sum -= over.tokens

    def _of(self, characters: int) -> float:
        return characters * self._a_character
