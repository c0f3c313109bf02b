"""A hard limit on what a run may use, in tokens and in money, over all its groups and models.

Before a call its worst case is set aside, so that what is used never exceeds the budget whatever
the answers are; afterwards what the meter saw is all that counts.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from turnetl.errors import BadUsage, Exhausted
from turnetl.llm.chat import Answer, Model, Question
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price, Prices
from turnetl.model import Usage

_ASKS = 2
"""How often a question may be asked with the longest answers; with shorter ones, more often."""
_WRONG = 700
"""Tokens that say what was wrong with an answer."""
_A_MESSAGE = 16
"""Tokens around a message."""
_A_CALL = 500
"""Tokens that a provider puts in itself, so that an answer has its form."""


@dataclass(frozen=True, slots=True)
class Reserve:
    """What a call may use at worst."""

    tokens: int
    money: float
    """US dollars; 0 if money does not matter."""


class Budget:
    """What a run may use. One for the whole process."""

    def __init__(
        self, tokens: int | None, money: float | None, meter: Meter, prices: Prices
    ) -> None:
        """Limit what `meter` counts.

        Args:
            tokens: of prompts and answers; None: as many as it takes.
            money: US dollars; None: as many as it takes.
            meter: counts all that is used, by every model that the budget is for.
            prices: what the models cost.
        """
        self.tokens = tokens
        self.money = money
        self._meter = meter
        self._prices = prices
        self._open: list[Reserve] = []
        self._freed = asyncio.Event()
        self._door = asyncio.Lock()
        self._said: str | None = None

    def price(self, model: str) -> Price | None:
        """Return the model's price.

        Raises:
            BadUsage: there is none, and the budget is one of money; says what to add where.
        """
        price = self._prices.of(model)
        if price is None and self.money is not None:
            raise BadUsage(f"a budget of money needs prices, and {self._prices.missing(model)}")
        return price

    @asynccontextmanager
    async def reserved(self, reserve: Reserve) -> AsyncIterator[None]:
        """Set the reserve aside for as long as a call takes.

        Calls are let in one after the other; where the reserve does not fit, the ones before it
        are waited for: most of them use much less than was set aside.

        Raises:
            Exhausted: it does not fit though nothing is under way. From then on nothing is let in.
        """
        async with self._door:
            while not self._fits(reserve):
                if not self._open:
                    self._said = self._said or self._exhausted(reserve)
                    raise Exhausted(self._said)
                self._freed.clear()
                await self._freed.wait()
            self._open.append(reserve)
        try:
            yield
        finally:
            self._open.remove(reserve)
            self._freed.set()

    def _fits(self, reserve: Reserve) -> bool:
        if self._said is not None:
            return False
        used = self._meter.total
        tokens = _tokens(used) + sum(one.tokens for one in self._open) + reserve.tokens
        money = (used.cost or 0.0) + sum(one.money for one in self._open) + reserve.money
        return self._bears(Reserve(tokens, money))

    def _exhausted(self, reserve: Reserve) -> str:
        used = self._meter.total
        spent, next_call = [], []
        if self.tokens is not None:
            spent.append(f"{_tokens(used):,} of {self.tokens:,} tokens")
            next_call.append(f"{reserve.tokens:,} tokens")
        if self.money is not None:
            spent.append(f"${used.cost or 0.0:,.4f} of ${self.money:,.4f}")
            next_call.append(f"${reserve.money:,.4f}")
        remedy = "the same command" if self._bears(reserve) else "with a larger budget, it"
        return (
            f"the budget bears no further call: {' and '.join(spent)} are spent, and the next one "
            f"may take up to {' and '.join(next_call)}; what is done stays, and {remedy} goes on "
            "from there"
        )

    def _bears(self, reserve: Reserve) -> bool:
        """Whether all of the budget is enough for the call."""
        return (self.tokens is None or reserve.tokens <= self.tokens) and (
            self.money is None or reserve.money <= self.money
        )


class Budgeted:
    """A model that is asked only if the budget bears the worst that may come of it."""

    def __init__(self, model: Model, budget: Budget) -> None:
        """Put a model under a budget.

        Raises:
            BadUsage: the budget is one of money, and the model's price is not known.
        """
        self._model = model
        self._budget = budget
        self._price = budget.price(model.name)

    @property
    def name(self) -> str:
        return self._model.name

    async def answer(self, question: Question) -> Answer:
        """Ask once there is room for it.

        Raises:
            Exhausted: there is none and will be none.
        """
        async with self._budget.reserved(worst(question, self._price)):
            return await self._model.answer(question)

    async def close(self) -> None:
        await self._model.close()


def worst(question: Question, price: Price | None) -> Reserve:
    """Return what a question may use at worst: asked again, with the longest answers.

    `retry.Retried` keeps to it: before it asks again, it asks `bears_another`.
    """
    usage = longest(question, _ASKS)
    return Reserve(_tokens(usage), price.of(usage) if price else 0.0)


def bears_another(question: Question, spent: Usage, again: Question) -> bool:
    """Whether `again` may be asked, too, within what was set aside for the question."""
    whole, one = longest(question, _ASKS), longest(again, 1)
    return (
        spent.prompt_tokens + one.prompt_tokens <= whole.prompt_tokens
        and spent.completion_tokens + one.completion_tokens <= whole.completion_tokens
    )


def longest(question: Question, asks: int) -> Usage:
    """Return what so many answers of the greatest length would use, each shown with the next."""
    prompt, answer = _prompt(question), question.max_tokens
    return Usage(
        prompt_tokens=sum(prompt + ask * (answer + _WRONG) for ask in range(asks)),
        completion_tokens=asks * answer,
    )


def _prompt(question: Question) -> int:
    """Return a bound on the tokens of a prompt: none is shorter than a byte.

    Prose has four bytes a token, but lists of digits and random letters have hardly more than one.
    A schema is sent as the answer's form, and to some servers in words too.
    """
    texts = [said.text for said in question.messages]
    form = json.dumps(question.schema.json) if question.schema is not None else ""
    size = sum(len(text.encode("utf-8", "replace")) for text in (*texts, form, form))
    return size + _A_MESSAGE * len(texts) + _A_CALL


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens
