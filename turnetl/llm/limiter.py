"""Rate limits of a provider: requests, tokens and requests in flight; one limiter per process.

The limits are those of the process alone, or shared with others. Requests are admitted by the place
of their turn, and equal ones in order of arrival. A request that is cancelled while it waits
consumes nothing.
"""

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self
from weakref import WeakSet

from turnetl.base.errors import ModelBusy, ModelUnusable
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse, ModelWrapper
from turnetl.llm.costs import Account, current_account
from turnetl.llm.retry import Sleep

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


class TokenEstimate:
    """The tokens of a request and its response by its characters, as in the responses so far."""

    def __init__(self) -> None:
        self._tokens_per_character = _TOKENS_PER_CHARACTER

    def tokens(self, characters: int) -> float:
        return characters * self._tokens_per_character

    def learn(self, characters: int, tokens: int) -> None:
        if characters:
            observed = tokens / characters
            self._tokens_per_character += _LEARNING_RATE * (observed - self._tokens_per_character)


@dataclass(frozen=True, slots=True)
class ProviderLimits:
    """What a provider allows. None: no limit."""

    requests_per_minute: int | None
    """In any 60 s."""
    tokens_per_minute: int | None
    """Of requests and responses."""
    concurrency: int
    """Requests in flight."""


class AdmissionLimits(Protocol):
    """Decides when the next request may be sent. A limiter calls `acquire` one at a time."""

    async def acquire(self, characters: int, waiting: Callable[[], int]) -> None:
        """Wait until a request of that size is within all limits, and hold a slot for it.

        `waiting` returns the number of requests that wait to be sent, with this one.

        Raises:
            ModelBusy: the limits are not known at the moment; a retry may help.
            ModelUnusable: they cannot be known until the user acts.
        """

    def start(self, characters: int) -> Admission:
        """Count the request that holds the slot as sent now."""

    def release(self) -> None:
        """Release the slot of a request that was answered, or of one that is not sent."""

    def settle(self, admission: Admission, tokens: int) -> None:
        """Replace the estimate of a request with the tokens it used."""

    async def close(self) -> None:
        """Return what is left of the limits."""


class Slots:
    """`AdmissionLimits` of a process that only limits its requests in flight."""

    def __init__(self, concurrency: int) -> None:
        self._slots = asyncio.Semaphore(concurrency)

    async def acquire(self, characters: int, waiting: Callable[[], int]) -> None:  # noqa: ARG002 - of the port
        await self._slots.acquire()

    def start(self, characters: int) -> Admission:
        return Admission(0.0, characters, 0.0)

    def release(self) -> None:
        self._slots.release()

    def settle(self, admission: Admission, tokens: int) -> None:
        """Do nothing: tokens are not limited."""

    async def close(self) -> None:
        """Do nothing: nothing is open."""


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
        """If a provider asks for a pause above `max_wait` seconds, requests fail until it ends."""
        self._limits = limits
        self._admitting = asyncio.Lock()
        self._queues: defaultdict[str, _ModelQueue] = defaultdict(_ModelQueue)
        self._sent: WeakSet[asyncio.Task[Any]] = WeakSet()
        self._max_wait = max_wait
        self._clock = clock
        self._sleep = sleep

    @asynccontextmanager
    async def slot(self, model: str, characters: int) -> AsyncIterator[Admission]:
        """Hold a slot among the requests in flight, as soon as the limits allow it.

        Raises:
            ModelBusy: also if the provider asked for a pause longer than `max_wait`.
            ModelUnusable: also if the provider rejected an earlier request to the model.
        """
        queue = self._queues[model]
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
        self._limits.settle(admission, tokens)

    def pause(self, model: str, seconds: float) -> None:
        """Admit no request to that model for a number of seconds."""
        queue = self._queues[model]
        queue.paused_until = max(queue.paused_until, self._clock() + seconds)

    def block(self, model: str, error: ModelUnusable) -> None:
        """Admit no further request to that model: each would fail the same way."""
        self._queues[model].blocked_by = str(error)

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


class LimitedModel(ModelWrapper):
    def __init__(self, model: ChatModel, limiter: Limiter) -> None:
        super().__init__(model)
        self._limiter = limiter

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


class _ModelQueue:
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
