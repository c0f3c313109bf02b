"""No more requests, tokens and calls in flight than a provider allows: one limiter a process.

First come, first served; a call that is cancelled while it waits takes nothing with it.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from turnetl.errors import ModelBusy, ModelRefused
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.rate_window import Admission, RequestWindow, TokenWindow

Sleep = Callable[[float], Awaitable[object]]


class Limiter:
    """What all calls of a process share."""

    def __init__(
        self,
        requests_per_minute: int | None,
        tokens_per_minute: int | None,
        at_once: int,
        *,
        longest_wait: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """Limit nothing yet.

        Args:
            requests_per_minute: in any 60 s; None for no limit.
            tokens_per_minute: of requests and answers; None for no limit.
            at_once: calls in flight.
            longest_wait: seconds; a provider that asks for more is not asked until then.
            clock: seconds, from anywhere, never backwards.
            sleep: waits so many seconds.
        """
        self._requests = RequestWindow(requests_per_minute)
        self._tokens = TokenWindow(tokens_per_minute)
        self._free = asyncio.Semaphore(at_once)
        self._door = asyncio.Lock()
        self._lanes: dict[str, _ModelQueue] = {}
        self._sent: set[asyncio.Task[Any] | None] = set()
        self._longest_wait = longest_wait
        self._clock = clock
        self._sleep = sleep

    @asynccontextmanager
    async def call(self, model: str, characters: int) -> AsyncIterator[Admission]:
        """Hold a place among the calls in flight, once it is this call's turn.

        Raises:
            ModelBusy: the provider asked for more patience than there is.
            ModelRefused: the model was refused before.
        """
        lane = self._lanes.setdefault(model, _ModelQueue())
        async with lane.gate:
            taken = await self._admitted(lane, model, characters)
        call = asyncio.current_task()
        self._sent.add(call)
        try:
            yield taken
        finally:
            self._sent.discard(call)
            self._free.release()

    def is_in_flight(self, task: "asyncio.Task[Any]") -> bool:
        """Whether the task makes a call that was let in."""
        return task in self._sent

    def settle(self, taken: Admission, tokens: int) -> None:
        """Put in place of the estimate what a call did take."""
        self._tokens.settle(taken, tokens)

    def pause(self, model: str, seconds: float) -> None:
        """Let no call of that model begin for so long."""
        lane = self._lanes.setdefault(model, _ModelQueue())
        lane.until = max(lane.until, self._clock() + seconds)

    def refuse(self, model: str, why: ModelRefused) -> None:
        """Let no call of that model begin any more: each would be answered the same."""
        self._lanes.setdefault(model, _ModelQueue()).refused = str(why)

    async def _admitted(self, lane: "_ModelQueue", model: str, characters: int) -> Admission:
        while True:
            await self._open(lane, model)
            await self._free.acquire()
            try:
                async with self._door:
                    await self._room(characters)
                    # Another call may have learnt something while this one waited.
                    if lane.is_open(self._clock()):
                        self._requests.take(self._clock())
                        return self._tokens.take(characters, self._clock())
            except BaseException:
                self._free.release()
                raise
            self._free.release()

    async def _open(self, lane: "_ModelQueue", model: str) -> None:
        """Wait until calls of the lane may begin."""
        while not lane.is_open(now := self._clock()):
            if lane.refused is not None:
                raise ModelRefused(lane.refused)
            left = lane.until - now
            if left > self._longest_wait:
                raise ModelBusy(f"model `{model}` is held back by its provider", left)
            await self._sleep(left)

    async def _room(self, characters: int) -> None:
        """Wait until one more call stays within the limits of a minute."""
        while True:
            now = self._clock()
            free = max(self._requests.free_at(now), self._tokens.free_at(characters, now))
            if free <= now:
                return
            await self._sleep(free - now)


class LimitedModel:
    """A model whose calls wait for their turn."""

    def __init__(self, model: ChatModel, limiter: Limiter) -> None:
        self._model = model
        self._limiter = limiter

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        characters = sum(len(said.text) for said in request.messages)
        async with self._limiter.call(self.name, characters) as taken:
            try:
                answer = await self._model.complete(request)
            except ModelBusy as busy:
                if busy.retry_after is not None:
                    self._limiter.pause(self.name, busy.retry_after)
                raise
            except ModelRefused as refused:
                self._limiter.refuse(self.name, refused)
                raise
        self._limiter.settle(taken, answer.prompt_tokens + answer.completion_tokens)
        return answer

    async def close(self) -> None:
        await self._model.close()


class _ModelQueue:
    """Of one model: those who wait stand behind its gate in the order in which they came."""

    def __init__(self) -> None:
        self.gate = asyncio.Lock()
        self.until = -math.inf
        """The end of a pause."""
        self.refused: str | None = None

    def is_open(self, now: float) -> bool:
        return self.refused is None and self.until <= now
