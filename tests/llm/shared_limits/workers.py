"""Workers that share limits, on a virtual clock, and the provider that counts what they send."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from tests.llm import virtual_clock
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse
from turnetl.llm.limiter import LimitedModel, Limiter, ProviderLimits
from turnetl.llm.shared_limits import SharedLimits
from turnetl.llm.shared_limits.store import LimitsStore

MINUTE = 60.0
REQUEST_SECONDS = 120.0


@dataclass
class CountedProvider:
    """Records what arrives; computes the most of it in any minute."""

    seconds: Callable[[], float] = lambda: 1.0
    name: str = "canned/m"
    arrived: list[tuple[float, int]] = field(default_factory=list)
    """Time and tokens of each request."""
    in_flight: int = 0
    most_in_flight: int = 0

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        tokens = len(request.messages[0].text) // 4 + 50
        self.arrived.append((virtual_clock.now(), tokens))
        try:
            await asyncio.sleep(self.seconds())
        finally:
            self.in_flight -= 1
        return ChatResponse("{}", tokens - 50, 50, truncated=False)

    async def close(self) -> None:
        pass

    def most_requests(self) -> int:
        """Return the most requests in any minute."""
        return self._most([(at, 1) for at, _ in self.arrived])

    def most_tokens(self) -> int:
        """Return the most tokens in any minute."""
        return self._most(self.arrived)

    def between(self, begin: float, end: float) -> int:
        """Return the requests that arrived in that time."""
        return sum(begin <= at < end for at, _ in self.arrived)

    @staticmethod
    def _most(arrived: Sequence[tuple[float, int]]) -> int:
        most = total = first = 0
        for at, amount in arrived:
            total += amount
            while arrived[first][0] <= at - MINUTE:
                total -= arrived[first][1]
                first += 1
            most = max(most, total)
        return most


class Worker:
    """A process with limits of its own settings, and a clock that began at another time."""

    def __init__(
        self, store: LimitsStore, provider: CountedProvider, owner: str, limits: ProviderLimits
    ) -> None:
        offset = random.Random(owner).uniform(0, 1e6)
        self.limits = SharedLimits(
            store,
            "name",
            limits,
            owner=owner,
            request_seconds=REQUEST_SECONDS,
            clock=lambda: virtual_clock.now() + offset,
        )
        limiter = Limiter(self.limits, clock=virtual_clock.now)
        self._model = LimitedModel(provider, limiter)
        self.sent = 0

    async def work(self, count: int, *, characters: int = 400, at_once: int = 40) -> None:
        """Send requests, `at_once` at a time."""
        queue = iter(range(count))

        async def send() -> None:
            for number in queue:
                message = ChatMessage("user", "x" * characters)
                await self._model.complete(ChatRequest(str(number), (message,), None, 1000))
                self.sent += 1

        await asyncio.gather(*(send() for _ in range(at_once)))


async def until(seconds: float, *work: Awaitable[None]) -> None:
    """Work for that time and stop."""
    tasks = [asyncio.ensure_future(one) for one in work]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
