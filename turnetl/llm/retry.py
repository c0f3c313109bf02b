"""Asking again, by the kind of failure: the busy after a wait, a wrong answer with the reason.

What comes out of it fits its schema, as plain JSON.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from turnetl.errors import BadTurn, ModelBusy, TooLong
from turnetl.llm import validate
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, ChatResponse
from turnetl.llm.cost_bounds import allows_retry
from turnetl.model import Usage

log = logging.getLogger(__name__)

MOST_SHOWN = 4_000
"""Characters of a wrong answer that the model is shown again."""

_LONG = 10.0
"""Seconds: who waits longer shall know why."""

Sleep = Callable[[float], Awaitable[object]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How a busy model is waited for. Seconds."""

    attempts: int = 7
    """With these waits: a minute of silence is borne."""
    hangs: int = 3
    """Of them, so many that end with the time for an answer: each is two minutes by default."""
    first_wait: float = 1.0
    """Doubled after each attempt; between half of it and all of it, by chance."""
    longest_wait: float = 60.0
    """If a provider asks for more, the run ends and may go on later."""
    asks: int = 5
    """At most so many answers to one request, until one fits."""


async def with_retries(
    call: Callable[[], Awaitable[T]],
    patience: RetryPolicy,
    *,
    sleep: Sleep = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> T:
    """Return what a call gives, made again while whoever is called is busy.

    Args:
        call: one attempt.
        patience: how often, and how long between.
        sleep: waits so many seconds.
        chance: 0 to 1, so that calls which failed together do not come back together.

    Raises:
        ModelBusy: after some patience; and whatever else the call raises.
    """
    wait, failed, hung = patience.first_wait, 0, 0
    while True:
        try:
            return await call()
        except ModelBusy as busy:
            failed, hung = failed + 1, hung + busy.timed_out
            if failed == patience.attempts or hung == patience.hangs:
                raise _given_up(busy, f"it was asked {failed} times") from busy
            if (wanted := busy.retry_after or 0.0) > patience.longest_wait:
                raise _given_up(busy, f"it wants {wanted:,.0f} s of patience") from busy
            if busy.retry_after is None:
                pause = wait * (0.5 + chance() / 2)
            else:
                # Never less than asked for.
                pause = busy.retry_after + chance() * patience.first_wait
            # Without the seconds: what many calls say at once is heard once.
            level = logging.WARNING if pause >= _LONG else logging.INFO
            log.log(level, "%s; it is asked again after a while", busy, extra={"pause": pause})
        await sleep(pause)
        wait = min(wait * 2, patience.longest_wait)


class RetryingModel:
    """A model that is asked again where that may help."""

    def __init__(
        self,
        model: ChatModel,
        patience: RetryPolicy,
        *,
        sleep: Sleep = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Wrap a model that makes one attempt a call.

        Args:
            model: asked.
            patience: how often, and how long between.
            sleep: waits so many seconds.
            chance: 0 to 1, so that calls which failed together do not come back together.
        """
        self._model = model
        self._patience = patience
        self._sleep = sleep
        self._chance = chance

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask until an answer fits, each time with what was wrong with the last.

        All answers together use no more than two of the greatest length would, which is what a
        budget sets aside: who says much that is wrong is asked twice, who says little more often.

        Raises:
            ModelRefused, ModelBusy: as the model, the latter after some patience.
            TooLong: request or answer did not fit; asking again would give the same.
            BadTurn: no answer fits. Its usage is what they cost, as TooLong's.
        """
        spent, asked = Usage(), request
        for ask in range(1, self._patience.asks + 1):
            answer = await self._one(asked, spent)
            spent = answer.usage
            try:
                return self._fitting(request, answer)
            except ValueError as error:
                again = _again(request, answer, error)
                if ask == self._patience.asks or not allows_retry(request, spent, again):
                    raise self._bad(request, error, spent) from error
                log.info("asking again", extra={"prompt": request.prompt_name})
                asked = again
        raise AssertionError("unreachable: the last ask returns or raises")

    async def close(self) -> None:
        await self._model.close()

    async def _one(self, request: ChatRequest, before: Usage) -> ChatResponse:
        """Return an answer that counts what the ones before it cost."""
        try:
            answer = await with_retries(
                lambda: self._model.complete(request),
                self._patience,
                sleep=self._sleep,
                chance=self._chance,
            )
            return answer.with_usage(answer.usage + before)
        except BadTurn as error:
            error.usage += before
            raise

    def _fitting(self, request: ChatRequest, answer: ChatResponse) -> ChatResponse:
        """Return the answer as plain JSON.

        Raises:
            TooLong: it was cut.
            ValueError: it does not fit; says why.
        """
        if answer.truncated:
            raise TooLong(
                f"model `{self.name}`: the answer to `{request.prompt_name}` was cut after "
                f"{answer.completion_tokens:,} tokens",
                answer.usage,
            )
        if answer.refused:
            raise ValueError("a refusal in place of an answer")
        text = validate.strip_wrapping(answer.text)
        validate.check_response(text, request.schema)
        return replace(answer, text=text)

    def _bad(self, request: ChatRequest, error: ValueError, spent: Usage) -> BadTurn:
        return BadTurn(
            f"model `{self.name}` answered `{request.prompt_name}` {spent.calls} times with "
            f"something that does not fit: {validate.describe(error)}",
            spent,
        )


def _given_up(busy: ModelBusy, why: str) -> ModelBusy:
    return ModelBusy(f"{busy}; {why}: run the same again later", busy.retry_after)


def _again(request: ChatRequest, answer: ChatResponse, error: ValueError) -> ChatRequest:
    """Return the request with the answer's beginning and what is wrong with it."""
    wrong = (
        f"That does not fit: {validate.describe(error)}. Answer again, with the JSON object alone."
    )
    # Providers refuse an empty message.
    shown = answer.text[:MOST_SHOWN].strip() or "(no answer)"
    more = (ChatMessage("assistant", shown), ChatMessage("user", wrong))
    return replace(request, messages=(*request.messages, *more))
