"""Faults of a provider, injected by a digest: the same faults in every run."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal

from tests.servers.wire_formats import CannedResponse

Delivery = Literal["complete", "dropped", "partial", "hangs", "endless"]


@dataclass(frozen=True)
class Fault:
    """An HTTP response sent instead of the model's."""

    status: int = 200
    body: str = "{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    delivery: Delivery = "complete"
    """`partial`: the connection closes in the middle of the body. `dropped`, `hangs`: nothing is
    sent, and the connection closes or stays open. `endless`: the body never ends."""


FAULTS: Mapping[str, Fault | CannedResponse] = {
    "402": Fault(402, '{"error": {"message": "top up"}}'),
    "429": Fault(429, '{"error": {"message": "slow down"}}'),
    "500": Fault(500, '{"error": {"message": "an accident"}}'),
    "dropped": Fault(delivery="dropped"),
    "partial": Fault(body='{"choices": []}' + " " * 1000, delivery="partial"),
    "prose": CannedResponse("Sure! Here is what I have found in this conversation."),
    "half-json": CannedResponse('{"extracted_entities": [{"name": "car'),
    "violation": CannedResponse('{"findings": [1, 2, 3]}'),
    "refused": CannedResponse("I cannot help with that.", "refused"),
    "truncated": CannedResponse('{"extracted_entities": [{"name": "car', "truncated"),
}


class FaultInjector:
    """Picks a fault by a digest of the request and of how often it arrived before."""

    def __init__(self, rates: Mapping[str, float], seed: int = 0) -> None:
        """Set the rates.

        Args:
            rates: by name in `FAULTS`; together at most 1.
            seed: another seed gives other faults.
        """
        self._rates = rates
        self._seed = seed
        self._attempts: Counter[bytes] = Counter()
        self._lock = threading.Lock()

    def pick(self, request: bytes) -> str | None:
        """Return the name of the fault for this attempt of the request; None for no fault."""
        key = blake2b(request, digest_size=16).digest()
        with self._lock:
            self._attempts[key] += 1
            attempt = self._attempts[key]
        digest = blake2b(key + f"{self._seed}/{attempt}".encode(), digest_size=8).digest()
        position = int.from_bytes(digest, "big") / 2**64
        for name, rate in self._rates.items():
            if position < rate:
                return name
            position -= rate
        return None


class RequestCap:
    """A limit of requests in any window: requests above it get status 429."""

    def __init__(self, requests: int, seconds: float, clock: Callable[[], float]) -> None:
        self._requests = requests
        self._seconds = seconds
        self._clock = clock
        self._times: deque[float] = deque()
        self._lock = threading.Lock()

    def reject(self) -> Fault | None:
        """Count a request; return the response if it is above the limit."""
        with self._lock:
            now = self._clock()
            while self._times and self._times[0] + self._seconds <= now:
                self._times.popleft()
            if len(self._times) < self._requests:
                self._times.append(now)
                return None
            wait = self._times[0] + self._seconds - now
        return Fault(429, '{"error": {"message": "too many"}}', {"Retry-After": f"{wait:.3f}"})
