"""Requests that are sent before the commit that they depend on, and guesses of their responses.

A turn that runs ahead is resolved against a group of which the last turns are guessed. Its requests
are sent in the background, and a guess is returned in the place of each response that has not
arrived. The turn that is committed sends its own requests: those that are equal were sent before,
and the others were sent for nothing. So a guess never decides what the graph stores; it decides how
many requests have been answered when their turn comes.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from turnetl.errors import Fatal, Retryable, TurnetlError
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.journal.key import request_key
from turnetl.model import Usage


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
    """A request that was sent ahead."""

    response: asyncio.Task[ChatResponse]
    turns: "set[TurnAhead]"
    """Those that sent it and are not committed yet."""
    is_used: bool = False
    """Whether a turn that is committed sent the same request."""


@dataclass(slots=True, eq=False)
class _Attempt:
    """One attempt to resolve a turn ahead."""

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
    """Keys of the requests of all attempts."""


class AheadModel:
    """A model whose requests may be sent ahead. It is the outermost wrapper."""

    def __init__(
        self,
        model: ChatModel,
        guesses: Guesses,
        *,
        is_sent: Callable[[asyncio.Task[Any]], bool] = lambda _: True,
    ) -> None:
        """Wrap the model of a run, with its stack.

        Args:
            model: receives each request once, as long as its turn is not committed.
            guesses: the probable responses.
            is_sent: whether a task has sent its request; one that has not is given up if no turn
                needs it any more.
        """
        self._model = model
        self._guesses = guesses
        self._is_sent = is_sent
        self._calls: dict[str, _Call] = {}
        self._given_up: set[asyncio.Task[ChatResponse]] = set()
        self.used = Usage()
        """Of the responses that turns received, without those to requests that ran ahead."""
        self.unused = Usage()
        """Of the responses to requests that ran ahead and that no turn sent."""

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def unused_share(self) -> float:
        """Share of all tokens that was spent on unused responses."""
        unused, used = self.unused_tokens, _tokens(self.used)
        return unused / (used + unused) if unused else 0.0

    @property
    def unused_tokens(self) -> int:
        return _tokens(self.unused)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the response, or a guess of it during an attempt to resolve a turn ahead.

        Raises:
            ModelUnusable, ModelBusy, BadTurn, RunStopped: as the model.
            GivenUp: the request is of an attempt that is over.
        """
        key = request_key(self.name, request)
        attempt = _attempted.get()
        if attempt is not None:
            return await self._response_or_guess(attempt, key, request)
        call = self._calls.get(key)
        sent = self._model.complete(request) if call is None else self._joined(call, request)
        response = await sent
        self.used += response.usage
        return response

    @contextmanager
    def attempt(self, turn: TurnAhead) -> Iterator[None]:
        """Guess the responses to the requests of this context: a turn is resolved ahead."""
        turn.latest = _Attempt(turn)
        token = _attempted.set(turn.latest)
        try:
            yield
        finally:
            _attempted.reset(token)

    def keep_asked(self, turn: TurnAhead) -> None:
        """Give up the requests that earlier attempts sent and the latest one did not."""
        if turn.latest is not None:
            self._release(turn, turn.sent - turn.latest.asked)

    def release(self, turn: TurnAhead) -> None:
        """Give up all requests of a turn that is committed or will not be."""
        turn.latest = None
        self._release(turn, set(turn.sent))

    async def close(self) -> None:
        """Give up all requests, and close the model. May be called more than once."""
        calls = {call.response for call in self._calls.values()} | self._given_up
        self._calls.clear()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await self._model.close()

    async def _response_or_guess(
        self, attempt: _Attempt, key: str, request: ChatRequest
    ) -> ChatResponse:
        turn = attempt.turn
        if attempt is not turn.latest:
            raise GivenUp("the turn is resolved again")
        call = self._calls.get(key) or self._send(key, request)
        call.turns.add(turn)
        turn.sent.add(key)
        attempt.asked.add(key)
        guess = None if call.response.done() else self._guesses.guess(request)
        if guess is None:
            return await asyncio.shield(call.response)
        attempt.guessed[key] = request, guess
        return ChatResponse(guess, 0, 0, truncated=False, calls=0)

    def _send(self, key: str, request: ChatRequest) -> _Call:
        call = _Call(asyncio.create_task(self._model.complete(request)), set())
        self._calls[key] = call
        call.response.add_done_callback(lambda done: self._check(key, call, done))
        return call

    def _check(self, key: str, call: _Call, done: asyncio.Task[ChatResponse]) -> None:
        """Compare a response with the guesses of it."""
        if done.cancelled():
            return
        # Mark the exception as retrieved: no turn may ask for it.
        text = done.result().text if done.exception() is None else None
        for turn in tuple(call.turns):
            guessed = turn.latest.guessed.pop(key, None) if turn.latest is not None else None
            if guessed and (text is None or not self._guesses.agrees(*guessed, text)):
                turn.on_wrong_guess(turn)

    async def _joined(self, call: _Call, request: ChatRequest) -> ChatResponse:
        """Return the response to a request that ran ahead."""
        call.is_used = True
        try:
            return await asyncio.shield(call.response)
        except (Retryable, Fatal):
            # It may have failed because it ran ahead, or in another state of the provider.
            return await self._model.complete(request)

    def _release(self, turn: TurnAhead, keys: set[str]) -> None:
        turn.sent -= keys
        for key in keys:
            call = self._calls.get(key)
            if call is None:
                continue
            call.turns.discard(turn)
            if not call.turns:
                del self._calls[key]
                if not call.is_used:
                    self._give_up(call.response)

    def _give_up(self, response: asyncio.Task[ChatResponse]) -> None:
        if not response.done() and not self._is_sent(response):
            response.cancel()
        self._given_up.add(response)
        response.add_done_callback(self._count_unused)

    def _count_unused(self, response: asyncio.Task[ChatResponse]) -> None:
        self._given_up.discard(response)
        if not response.cancelled() and response.exception() is None:
            self.unused += response.result().usage


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens


_attempted: ContextVar[_Attempt | None] = ContextVar("attempted", default=None)
"""The attempt of this context."""
