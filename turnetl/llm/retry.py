"""Asking again, by the kind of failure: the busy after a wait, a wrong answer with the reason.

What comes out of it fits its schema, as plain JSON.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from turnetl.errors import BadTurn, ModelBusy, TooLong
from turnetl.llm import fit
from turnetl.llm.chat import Answer, Model, Question, Said
from turnetl.model import Usage

log = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Patience:
    """How a busy model is waited for. Seconds."""

    attempts: int = 6
    first_wait: float = 1.0
    """Doubled after each attempt."""
    longest_wait: float = 60.0
    """If a provider asks for more, the run ends and may go on later."""


class Retried:
    """A model that is asked again where that may help."""

    def __init__(
        self,
        model: Model,
        patience: Patience,
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

    async def answer(self, question: Question) -> Answer:
        """Ask until an answer fits: at most twice where one came, with what was wrong.

        Raises:
            ModelRefused, ModelBusy: as the model, the latter after some patience.
            TooLong: question or answer did not fit; asking again would give the same.
            BadTurn: two answers did not fit. Its usage is what they cost, as TooLong's.
        """
        first = await self._patiently(question)
        try:
            return self._fitting(question, first)
        except ValueError as error:
            log.info("asking again", extra={"prompt": question.prompt})
            again = _again(question, first, error)
        try:
            second = await self._patiently(again)
        except BadTurn as error:
            error.usage += first.usage
            raise
        both = _sum(second, first.usage)
        try:
            return self._fitting(question, both)
        except ValueError as error:
            raise BadTurn(
                f"model `{self.name}` answered `{question.prompt}` twice with something "
                f"that does not fit: {fit.reason(error)}",
                both.usage,
            ) from error

    async def close(self) -> None:
        await self._model.close()

    async def _patiently(self, question: Question) -> Answer:
        wait = self._patience.first_wait
        for attempt in range(1, self._patience.attempts + 1):
            try:
                return await self._model.answer(question)
            except ModelBusy as busy:
                pause = max(busy.retry_after or 0.0, wait * (0.5 + self._chance() / 2))
                if attempt == self._patience.attempts or _beyond(busy, self._patience):
                    raise
                log.info("model busy", extra={"prompt": question.prompt, "pause": pause})
                await self._sleep(min(pause, self._patience.longest_wait))
                wait *= 2
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _fitting(self, question: Question, answer: Answer) -> Answer:
        """Return the answer as plain JSON.

        Raises:
            TooLong: it was cut.
            ValueError: it does not fit; says why.
        """
        if answer.cut:
            raise TooLong(
                f"model `{self.name}`: the answer to `{question.prompt}` was cut after "
                f"{answer.completion_tokens:,} tokens",
                answer.usage,
            )
        if answer.refused:
            raise ValueError("there is no answer, but a refusal")
        text = fit.plain(answer.text)
        fit.check(text, question.schema)
        return replace(answer, text=text)


def _beyond(busy: ModelBusy, patience: Patience) -> bool:
    return busy.retry_after is not None and busy.retry_after > patience.longest_wait


def _again(question: Question, answer: Answer, error: ValueError) -> Question:
    """Return the question with the answer and what is wrong with it."""
    wrong = f"That does not fit: {fit.reason(error)}. Answer again, with the JSON object alone."
    # Providers refuse an empty message.
    more = (Said("assistant", answer.text or "(no answer)"), Said("user", wrong))
    return replace(question, messages=(*question.messages, *more))


def _sum(answer: Answer, before: Usage) -> Answer:
    """Return the answer with what the ones before it cost, too."""
    both = answer.usage + before
    return replace(
        answer,
        calls=both.calls,
        prompt_tokens=both.prompt_tokens,
        completion_tokens=both.completion_tokens,
        cached_tokens=both.cached_tokens,
        seconds=both.seconds,
        cost=both.cost,
    )
