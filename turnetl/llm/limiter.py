"""Rate limits of a provider: requests, tokens and requests in flight; one limiter per process.

The limits are those of the process alone or shared with others (`rate_limits`).

Requests are admitted by the place of their turn (`request_queue`), and equal ones in order of
arrival. A request that is cancelled while it waits consumes nothing.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, NamedTuple, Self
from weakref import WeakSet

from turnetl.base.errors import ModelBusy, ModelUnusable
from turnetl.llm.budget import Account, current_account
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.rate_limits import Admission, AdmissionLimits
from turnetl.llm.retry import Sleep


class Limiter:
    """The limits that all requests of a process share."""

    def __init__(
        self,
        limits: AdmissionLimits,
        *,
        max_wait: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """Admit requests within limits.

        Args:
            limits: of the process, or shared with others.
            max_wait: seconds; if a provider asks for a longer pause, requests fail until it ends.
            clock: monotonic seconds.
            sleep: waits for a number of seconds.
        """
        self._limits = limits
        self._admitting = asyncio.Lock()
        self._queues: dict[str, _ModelQueue] = {}
        self._sent: WeakSet[asyncio.Task[Any]] = WeakSet()
        self._max_wait = max_wait
        self._clock = clock
        self._sleep = sleep

    @asynccontextmanager
    async def slot(self, model: str, characters: int) -> AsyncIterator[Admission]:
        """Hold a slot among the requests in flight, as soon as the limits allow it.

        Raises:
            ModelBusy: the provider asked for a pause longer than `max_wait`, or shared limits are
                not known at the moment.
            ModelUnusable: the provider rejected an earlier request to the model, or shared limits
                cannot be used.
        """
        queue = self._queues.setdefault(model, _ModelQueue())
        queue.waiting += 1
        try:
            async with queue.requests:
                admission = await self._admit(queue, model, characters)
        finally:
            queue.waiting -= 1
        tasks = {task for task in (asyncio.current_task(), _sent_for.get()) if task is not None}
        self._sent.update(tasks)
        try:
            yield admission
        except BaseException:
            self._sent.difference_update(tasks)
            raise
        finally:
            self._limits.release()

    def has_sent(self, task: "asyncio.Task[Any]") -> bool:
        """Return whether the request of a task was sent: its response is, or will be, paid for.

        A request that failed is not sent, as long as it waits to be tried again.
        """
        return task in self._sent

    def settle(self, admission: Admission, tokens: int) -> None:
        """Replace the estimate of a request with the tokens it used."""
        self._limits.settle(admission, tokens)

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
            async with self._admitting:
                await self._limits.acquire(characters, self._waiting)
                # Another request may have paused the model in the meantime.
                if queue.is_open(self._clock()):
                    return self._limits.start(characters)
                self._limits.release()

    def _waiting(self) -> int:
        """Return how many requests wait for the limits and not for their model."""
        now = self._clock()
        return sum(queue.waiting for queue in self._queues.values() if queue.is_open(now))

    async def _wait_until_open(self, queue: "_ModelQueue", model: str) -> None:
        """Wait until the model is no longer paused."""
        while not queue.is_open(now := self._clock()):
            if queue.blocked_by is not None:
                raise ModelUnusable(queue.blocked_by)
            remaining = queue.paused_until - now
            if remaining > self._max_wait:
                raise ModelBusy(f"model `{model}` is paused at its provider's request", remaining)
            await self._sleep(remaining)


def send_for_this_task() -> None:
    """Count what this context sends as sent by the current task, whichever task sends it."""
    _sent_for.set(asyncio.current_task())


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
    """Requests to one model."""

    def __init__(self) -> None:
        self.requests = RequestQueue()
        self.waiting = 0
        self.paused_until = -math.inf
        self.blocked_by: str | None = None
        """The error of the request after which the model is blocked."""

    def is_open(self, now: float) -> bool:
        return self.blocked_by is None and self.paused_until <= now


_sent_for: ContextVar["asyncio.Task[Any] | None"] = ContextVar("sent_for", default=None)
"""The task that waits for what this context sends, if it is not the one that sends it."""


class _Waiting(NamedTuple):
    account: Account
    admitted: "asyncio.Future[None]"


class RequestQueue:
    """A lock that goes to the request with the lowest place; among equal ones to the first.

    The place is that of the account of the request, read when the lock is free: a turn moves up
    while its requests wait.
    """

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []
        self._is_held = False

    async def __aenter__(self) -> Self:
        if not self._is_held:
            self._is_held = True
            return self
        waiting = _Waiting(current_account(), asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        try:
            await waiting.admitted
        except asyncio.CancelledError:
            if not waiting.admitted.cancelled():  # It was admitted at the same moment.
                self._release()
            raise
        finally:
            self._waiting = [other for other in self._waiting if other is not waiting]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._release()

    def _release(self) -> None:
        # A cancelled request is still in the list until its task runs.
        waiting = [one for one in self._waiting if not one.admitted.done()]
        self._is_held = bool(waiting)
        if waiting:
            min(waiting, key=lambda one: one.account.place).admitted.set_result(None)
