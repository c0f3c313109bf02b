"""Rate limits of a provider: requests, tokens and requests in flight; one limiter per process.

Requests are admitted in order of arrival. A request that is cancelled while it waits consumes
nothing.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from turnetl.errors import ModelBusy, ModelUnusable
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.rate_window import Admission, RequestWindow, TokenWindow
from turnetl.llm.retry import Sleep


class Limiter:
    """The limits that all requests of a process share."""

    def __init__(
        self,
        requests_per_minute: int | None,
        tokens_per_minute: int | None,
        concurrency: int,
        *,
        max_wait: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """Start with empty windows.

        Args:
            requests_per_minute: in any 60 s; None for no limit.
            tokens_per_minute: of requests and responses; None for no limit.
            concurrency: requests in flight.
            max_wait: seconds; if a provider asks for a longer pause, requests fail until it ends.
            clock: monotonic seconds.
            sleep: waits for a number of seconds.
        """
        self._requests = RequestWindow(requests_per_minute)
        self._tokens = TokenWindow(tokens_per_minute)
        self._slots = asyncio.Semaphore(concurrency)
        self._admitting = asyncio.Lock()
        self._queues: dict[str, _ModelQueue] = {}
        self._in_flight: set[asyncio.Task[Any] | None] = set()
        self._max_wait = max_wait
        self._clock = clock
        self._sleep = sleep

    @asynccontextmanager
    async def slot(self, model: str, characters: int) -> AsyncIterator[Admission]:
        """Hold a slot among the requests in flight, as soon as the limits allow it.

        Raises:
            ModelBusy: the provider asked for a pause longer than `max_wait`.
            ModelUnusable: the provider rejected an earlier request to the model.
        """
        queue = self._queues.setdefault(model, _ModelQueue())
        async with queue.lock:
            admission = await self._admit(queue, model, characters)
        task = asyncio.current_task()
        self._in_flight.add(task)
        try:
            yield admission
        finally:
            self._in_flight.discard(task)
            self._slots.release()

    def is_in_flight(self, task: "asyncio.Task[Any]") -> bool:
        """Return whether the task has sent a request and waits for the response."""
        return task in self._in_flight

    def settle(self, admission: Admission, tokens: int) -> None:
        """Replace the estimate of a request with the tokens it used."""
        self._tokens.settle(admission, tokens)

    def pause(self, model: str, seconds: float) -> None:
        """Admit no request to that model for a number of seconds."""
        queue = self._queues.setdefault(model, _ModelQueue())
        queue.paused_until = max(queue.paused_until, self._clock() + seconds)

    def block(self, model: str, error: ModelUnusable) -> None:
        """Admit no further request to that model: each would fail the same way."""
        self._queues.setdefault(model, _ModelQueue()).blocked_by = str(error)

    async def _admit(self, queue: "_ModelQueue", model: str, characters: int) -> Admission:
        while True:
            await self._wait_until_open(queue, model)
            await self._slots.acquire()
            try:
                async with self._admitting:
                    await self._wait_for_rate(characters)
                    # Another request may have paused the model in the meantime.
                    if queue.is_open(self._clock()):
                        self._requests.take(self._clock())
                        return self._tokens.take(characters, self._clock())
            except BaseException:
                self._slots.release()
                raise
            self._slots.release()

    async def _wait_until_open(self, queue: "_ModelQueue", model: str) -> None:
        """Wait until the model is no longer paused."""
        while not queue.is_open(now := self._clock()):
            if queue.blocked_by is not None:
                raise ModelUnusable(queue.blocked_by)
            remaining = queue.paused_until - now
            if remaining > self._max_wait:
                raise ModelBusy(f"model `{model}` is paused at its provider's request", remaining)
            await self._sleep(remaining)

    async def _wait_for_rate(self, characters: int) -> None:
        """Wait until one more request stays within the limits per minute."""
        while True:
            now = self._clock()
            free_at = max(self._requests.free_at(now), self._tokens.free_at(characters, now))
            if free_at <= now:
                return
            await self._sleep(free_at - now)


class LimitedModel:
    """A model whose requests wait for the limiter."""

    def __init__(self, model: ChatModel, limiter: Limiter) -> None:
        self._model = model
        self._limiter = limiter

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        async with self._limiter.slot(self.name, request.characters) as admission:
            try:
                response = await self._model.complete(request)
            except ModelBusy as busy:
                if busy.retry_after is not None:
                    self._limiter.pause(self.name, busy.retry_after)
                raise
            except ModelUnusable as error:
                self._limiter.block(self.name, error)
                raise
        self._limiter.settle(admission, response.prompt_tokens + response.completion_tokens)
        return response

    async def close(self) -> None:
        await self._model.close()


class _ModelQueue:
    """Requests to one model, in order of arrival: the lock is fair."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.paused_until = -math.inf
        self.blocked_by: str | None = None
        """The error of the request after which the model is blocked."""

    def is_open(self, now: float) -> bool:
        return self.blocked_by is None and self.paused_until <= now
