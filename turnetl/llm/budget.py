"""A hard limit on what a run may use, in tokens and in money, over all its groups and models.

Before a call its worst case is set aside, so that what is used never exceeds the budget whatever
the answers are; afterwards what the meter saw is all that counts.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

from turnetl.errors import BadTurn, BadUsage, Exhausted
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.cost_bounds import CostBound, shrinking_bounds, total_tokens, worst_case
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price, Prices

_CENT = 0.01


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
        self._open: list[CostBound] = []
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
    async def reserved(self, shrinking_bounds: Iterator[CostBound]) -> AsyncIterator[CostBound]:
        """Set a reserve aside for as long as a call takes.

        Calls are let in one after the other; where the reserve does not fit, the ones before it
        are waited for: most of them use much less than was set aside. Towards the end, a smaller
        one has to do.

        Args:
            reserves: the whole one first, then smaller ones that would do, too.

        Yields:
            The one that is set aside.

        Raises:
            Exhausted: none fits though nothing is under way. From then on nothing is let in.
        """
        async with self._door:
            reserve = await self._fitting(shrinking_bounds)
            self._open.append(reserve)
        try:
            yield reserve
        finally:
            self._open.remove(reserve)
            self._freed.set()

    def stop(self, reserve: CostBound) -> Exhausted:
        """Let nothing in any more; return the error that says so.

        Args:
            reserve: what could not be set aside, or was not enough.
        """
        self._said = self._said or self._exhausted(reserve)
        return Exhausted(self._said)

    async def _fitting(self, shrinking_bounds: Iterator[CostBound]) -> CostBound:
        reserve = next(shrinking_bounds)
        while self._open and not self._fits(reserve):
            self._freed.clear()
            await self._freed.wait()
        while not self._fits(reserve):
            smaller = next(shrinking_bounds, None)
            if smaller is None:
                raise self.stop(reserve)
            reserve = smaller
        return reserve

    def _fits(self, reserve: CostBound) -> bool:
        if self._said is not None:
            return False
        used = self._meter.total
        tokens = total_tokens(used) + sum(one.tokens for one in self._open) + reserve.tokens
        money = (used.cost or 0.0) + sum(one.money for one in self._open) + reserve.money
        return self._bears(CostBound(tokens, money))

    def _exhausted(self, reserve: CostBound) -> str:
        used = self._meter.total
        spent, next_call = [], []
        if self.tokens is not None:
            spent.append(f"{total_tokens(used):,} of {self.tokens:,} tokens")
            next_call.append(f"{reserve.tokens:,} tokens")
        if self.money is not None:
            spent.append(f"{_dollars(used.cost or 0.0)} of {_dollars(self.money)}")
            next_call.append(_dollars(reserve.money))
        remedy = "the same command" if self._bears(reserve) else "with a larger budget, it"
        return (
            f"the budget bears no further call: {' and '.join(spent)} are spent, and the next one "
            f"may take up to {' and '.join(next_call)}; what is done stays, and {remedy} goes on "
            "from there"
        )

    def _bears(self, reserve: CostBound) -> bool:
        """Whether all of the budget is enough for the call."""
        return (self.tokens is None or reserve.tokens <= self.tokens) and (
            self.money is None or reserve.money <= self.money
        )


class BudgetedModel:
    """A model that is asked only if the budget bears the worst that may come of it."""

    def __init__(self, model: ChatModel, budget: Budget) -> None:
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

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask once there is room for it.

        Raises:
            Exhausted: there is none and will be none.
        """
        async with self._budget.reserved(shrinking_bounds(request, self._price)) as reserve:
            try:
                return await self._model.complete(replace(request, max_tokens=reserve.max_tokens))
            except BadTurn as error:
                if reserve.max_tokens == request.max_tokens:
                    raise
                # It might have come to something, had there been more left.
                raise self._budget.stop(worst_case(request, self._price)) from error

    async def close(self) -> None:
        await self._model.close()


def _dollars(money: float) -> str:
    """Return an amount with enough of its places to be told from nothing."""
    return f"${money:.12f}".rstrip("0") if 0 < money < _CENT else f"${money:,.4f}"
