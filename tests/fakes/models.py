"""A scriptable model: what it answers is a function, everything else is recorded."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from turnetl.llm.chat import ChatRequest, ChatResponse

Respond = Callable[[ChatRequest], Awaitable[ChatResponse]]


@dataclass
class FakeModel:
    """Responds as `respond` does, and records the requests."""

    respond: Respond
    name: str = "canned/m"
    gate: asyncio.Event | None = None
    """Responses wait for it."""
    requests: list[ChatRequest] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """When each request arrived, in seconds of the event loop."""
    arrived: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    """Released with every request."""
    in_flight: int = 0
    max_in_flight: int = 0
    cancelled: int = 0
    closed: int = 0
    """How often."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        self.arrived.release()
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            if self.gate is not None:
                await self.gate.wait()
            return await self.respond(request)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1

    async def close(self) -> None:
        self.closed += 1


def scripted(
    entries: Sequence[ChatResponse | Exception],
    *,
    name: str = "canned/m",
    gate: asyncio.Event | None = None,
) -> FakeModel:
    """Return a model that returns or raises one entry per request, the last one forever."""
    rest = list(entries)

    async def respond(_: ChatRequest) -> ChatResponse:
        entry = rest.pop(0) if len(rest) > 1 else rest[0]
        await asyncio.sleep(0)
        if isinstance(entry, Exception):
            raise entry
        return entry

    return FakeModel(respond, name, gate)
