"""What goes wrong at a provider, by a die that falls the same way in every run."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal

from tests.servers.wire_formats import Words

Way = Literal["whole", "dropped", "half", "hangs", "endless"]


@dataclass(frozen=True)
class Fault:
    """What is answered instead of an answer."""

    status: int = 200
    body: str = "{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    way: Way = "whole"
    """How far it gets: half, and the connection ends; nothing, and it ends or stays; no end."""


KINDS: Mapping[str, Fault | Words] = {
    "402": Fault(402, '{"error": {"message": "top up"}}'),
    "429": Fault(429, '{"error": {"message": "slow down"}}'),
    "500": Fault(500, '{"error": {"message": "an accident"}}'),
    "dropped": Fault(way="dropped"),
    "half": Fault(body='{"choices": []}' + " " * 1000, way="half"),
    "prose": Words("Sure! Here is what I have found in this conversation."),
    "half-json": Words('{"extracted_entities": [{"name": "car'),
    "violation": Words('{"findings": [1, 2, 3]}'),
    "refused": Words("I cannot help with that.", "refused"),
    "cut": Words('{"extracted_entities": [{"name": "car', "cut"),
}


class Dice:
    """Decides what goes wrong by a digest of the request and of how often it came before."""

    def __init__(self, rates: Mapping[str, float], seed: int = 0) -> None:
        """Take the rates.

        Args:
            rates: of names in `KINDS`; together at most 1.
            seed: another one, other accidents.
        """
        self._rates = rates
        self._seed = seed
        self._came: Counter[bytes] = Counter()
        self._lock = threading.Lock()

    def thrown(self, request: bytes) -> str | None:
        """Return the kind of what goes wrong with this request, this time."""
        key = blake2b(request, digest_size=16).digest()
        with self._lock:
            self._came[key] += 1
            attempt = self._came[key]
        mixed = blake2b(key + f"{self._seed}/{attempt}".encode(), digest_size=8).digest()
        place = int.from_bytes(mixed, "big") / 2**64
        for kind, rate in self._rates.items():
            if place < rate:
                return kind
            place -= rate
        return None


class Cap:
    """So many requests in any window and no more: what is beyond is answered 429."""

    def __init__(self, requests: int, seconds: float, clock: Callable[[], float]) -> None:
        self._requests = requests
        self._seconds = seconds
        self._clock = clock
        self._taken: deque[float] = deque()
        self._lock = threading.Lock()

    def over(self) -> Fault | None:
        """Count a request; return what to answer if it is one too many."""
        with self._lock:
            now = self._clock()
            while self._taken and self._taken[0] + self._seconds <= now:
                self._taken.popleft()
            if len(self._taken) < self._requests:
                self._taken.append(now)
                return None
            wait = self._taken[0] + self._seconds - now
        return Fault(429, '{"error": {"message": "too many"}}', {"Retry-After": f"{wait:.3f}"})
