"""Requests that are sent before the commit that they depend on, and guesses of their responses.

A turn that runs ahead is resolved against a group of which the last turns are guessed. Its requests
are sent in the background, and a guess is returned in the place of each response that has not
arrived. The turn that is committed sends its own requests: those that are equal were sent before,
and the others were sent for nothing. So a guess never decides what the graph stores; it decides how
many requests have been answered when their turn comes.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from turnetl.base.errors import Fatal, Retryable, TurnetlError
from turnetl.base.model import Usage
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse, ModelWrapper
from turnetl.llm.costs import set_in_context
from turnetl.llm.journal.file import request_key
from turnetl.llm.limiter import send_for_this_task


class Guesses(Protocol):
    """What a model will probably respond."""

    def guess(self, request: ChatRequest) -> str | None:
        """Return the text of the probable response; None if there is no useful guess."""

    def agrees(self, request: ChatRequest, guess: str, text: str) -> bool:
        """Return whether a response has the same effect as the guess of it."""


class GivenUp(TurnetlError):
    """The attempt to resolve a turn ahead is over: another one takes its place."""


@dataclass(slots=True, eq=False)
class _Call:
    response: asyncio.Task[ChatResponse]
    turns: "set[TurnAhead]"
    """Those that sent it and are not committed yet."""
    is_used: bool = False
    """Whether a turn that is committed sent the same request."""
    waiting: int = 0
    """Requests of turns that are committed, which wait for the response."""


@dataclass(slots=True, eq=False)
class _Attempt:
    turn: "TurnAhead"
    guessed: dict[str, tuple[ChatRequest, str]] = field(default_factory=dict)
    """By key of the request: the guesses, without those that were right."""
    asked: set[str] = field(default_factory=set)
    """Keys of the requests."""


@dataclass(slots=True, eq=False)
class TurnAhead:
    """A turn that runs ahead, over all attempts to resolve it."""

    on_wrong_guess: "Callable[[TurnAhead], None]"
    """Called when a response shows that a guess of the latest attempt was wrong."""
    latest: _Attempt | None = None
    """None: it is not resolved ahead at present."""
    sent: set[str] = field(default_factory=set)
    """Keys of the requests of all attempts, and of the commit."""


class AheadModel(ModelWrapper):
    """A model whose requests may be sent ahead. It is the outermost wrapper."""

    def __init__(
        self,
        model: ChatModel,
        guesses: Guesses,
        *,
        is_sent: Callable[[asyncio.Task[Any]], bool] = lambda _: True,
    ) -> None:
        """Wrap the model of a run, with its stack: it receives each request of a turn once.

        `is_sent` is whether the request of a task was sent; one that was not is cancelled if no
        turn needs it any more.
        """
        super().__init__(model)
        self._guesses = guesses
        self._is_sent = is_sent
        self._calls: dict[str, _Call] = {}
        # Those that no turn needs and whose response is paid for, until it arrives.
        self._given_up: dict[str, _Call] = {}
        self._open: set[asyncio.Task[ChatResponse]] = set()
        # By key of the request: a turn that is committed may still send an equal one.
        self._unused: dict[str, Usage] = {}
        self.unused_tokens = 0
        """Of `unused`."""
        self.used = Usage()
        """Of the responses that turns received when they were committed."""

    @property
    def unused_share(self) -> float:
        """Share of all tokens that was spent on unused responses."""
        unused, used = self.unused_tokens, self.used.tokens
        return unused / (used + unused) if unused else 0.0

    @property
    def unused(self) -> Usage:
        """Of the responses to requests that ran ahead and that no committed turn sent."""
        return sum(self._unused.values(), Usage())

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the response, or a guess of it during an attempt to resolve a turn ahead.

        GivenUp: the request is of an attempt that is over.
        """
        key = request_key(self.name, request)
        attempt = _attempted.get()
        if attempt is not None:
            return await self._response_or_guess(attempt, key, request)
        response = await self._committed_response(_committed.get(), key, request)
        self.used += response.usage
        self.unused_tokens -= self._unused.pop(key, Usage()).tokens
        return response

    @contextmanager
    def attempt(self, turn: TurnAhead) -> Iterator[None]:
        """Guess the responses to the requests of this context: a turn is resolved ahead."""
        turn.latest = _Attempt(turn)
        with set_in_context(_attempted, turn.latest):
            yield

    def committing(self, turn: TurnAhead) -> AbstractContextManager[None]:
        """Share the requests of this context with attempts to resolve the same turn ahead.

        The attempt with which a chain begins runs beside the commit: a request of both is sent
        once, whichever of them comes first.
        """
        return set_in_context(_committed, turn)

    def keep_asked(self, turn: TurnAhead) -> None:
        """Give up the requests that earlier attempts sent and the latest one did not."""
        if turn.latest is not None:
            unneeded = turn.sent - turn.latest.asked
            self._release(turn, {key for key in unneeded if not self._calls[key].is_used})

    def release(self, turn: TurnAhead) -> None:
        """Give up all requests of a turn that is committed or will not be."""
        turn.latest = None
        self._release(turn, set(turn.sent))

    async def close(self) -> None:
        """Give up all requests, and close the model. Safe to repeat.

        The model decides how long it waits for responses that are paid for: they are counted.
        """
        for call in self._open:
            if not self._is_sent(call):
                call.cancel()
        try:
            await self._model.close()
        finally:
            self._calls.clear()
            calls = tuple(self._open)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            # From Python 3.12 on it returns before the callbacks of calls that had ended already,
            # which count what was paid for.
            await asyncio.sleep(0)

    async def _response_or_guess(
        self, attempt: _Attempt, key: str, request: ChatRequest
    ) -> ChatResponse:
        turn = attempt.turn
        if attempt is not turn.latest:
            raise GivenUp("the turn is resolved again")
        call = self._call_of(turn, key, request)
        attempt.asked.add(key)
        guess = None if call.response.done() else self._guesses.guess(request)
        if guess is None:
            return await asyncio.shield(call.response)
        attempt.guessed[key] = request, guess
        return ChatResponse(guess, 0, 0, truncated=False, calls=0)

    async def _committed_response(
        self, turn: TurnAhead | None, key: str, request: ChatRequest
    ) -> ChatResponse:
        call = self._calls.get(key) or self._given_up.get(key)
        ran_ahead = call is not None
        if turn is not None:
            call = self._call_of(turn, key, request)
        if call is None:
            return await self._model.complete(request)
        call.is_used = True
        call.waiting += 1
        try:
            return await asyncio.shield(call.response)
        except (Retryable, Fatal):
            if not ran_ahead:
                raise
            # It may have failed because it ran ahead, or in another state of the provider.
            return await self._model.complete(request)
        finally:
            call.waiting -= 1

    def _call_of(self, turn: TurnAhead, key: str, request: ChatRequest) -> _Call:
        """Return the call of the request, sent now if it was not, and keep it for the turn."""
        call = self._calls.get(key) or self._given_up.pop(key, None) or self._send(key, request)
        self._calls[key] = call
        call.turns.add(turn)
        turn.sent.add(key)
        return call

    def _send(self, key: str, request: ChatRequest) -> _Call:
        call = _Call(asyncio.create_task(self._complete(request)), set())
        self._open.add(call.response)
        call.response.add_done_callback(self._open.discard)
        call.response.add_done_callback(lambda done: self._check(key, call, done))
        return call

    async def _complete(self, request: ChatRequest) -> ChatResponse:
        # A journal sends the request in a task of its own.
        send_for_this_task()
        return await self._model.complete(request)

    def _check(self, key: str, call: _Call, done: asyncio.Task[ChatResponse]) -> None:
        if done.cancelled():
            return
        # Mark the exception as retrieved: no turn may ask for it.
        text = done.result().text if done.exception() is None else None
        for turn in tuple(call.turns):
            guessed = turn.latest.guessed.pop(key, None) if turn.latest is not None else None
            if guessed and (text is None or not self._guesses.agrees(*guessed, text)):
                turn.on_wrong_guess(turn)

    def _release(self, turn: TurnAhead, keys: set[str]) -> None:
        turn.sent -= keys
        for key in keys:
            call = self._calls.get(key)
            if call is None:
                continue
            call.turns.discard(turn)
            if not call.turns:
                del self._calls[key]
                self._give_up(key, call)

    def _give_up(self, key: str, call: _Call) -> None:
        if not (call.waiting or call.response.done() or self._is_sent(call.response)):
            call.response.cancel()
            return
        self._given_up[key] = call
        call.response.add_done_callback(lambda done: self._count_unused(key, call, done))

    def _count_unused(self, key: str, call: _Call, done: asyncio.Task[ChatResponse]) -> None:
        if self._given_up.get(key) is not call:
            return  # A later attempt needs it after all.
        del self._given_up[key]
        if call.is_used or done.cancelled() or done.exception() is not None:
            return
        usage = done.result().usage
        self.unused_tokens += usage.tokens - self._unused.get(key, Usage()).tokens
        self._unused[key] = usage


_attempted: ContextVar[_Attempt | None] = ContextVar("attempted", default=None)
"""The attempt of this context."""
_committed: ContextVar[TurnAhead | None] = ContextVar("committed", default=None)
"""The turn that is committed in this context."""
