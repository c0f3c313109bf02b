"""A hard limit on the usage of a run, in tokens and in dollars, over all its groups and models.

Before each request its worst case is reserved, so that the usage never exceeds the budget. After
the response, only the usage that the meter counted remains.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

from turnetl.errors import BadTurn, BadUsage, RunStopped
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.cost_bounds import CostBound, shrinking_bounds, total_tokens, worst_case
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price, Prices

_CENT = 0.01


class Budget:
    """The limits of a run. One object per process."""

    def __init__(self, tokens: int | None, usd: float | None, meter: Meter, prices: Prices) -> None:
        """Limit the total of a meter.

        Args:
            tokens: of prompts and responses; None for no limit.
            usd: US dollars; None for no limit.
            meter: counts the usage of every model that the budget applies to.
            prices: prices of the models.
        """
        self.tokens = tokens
        self.usd = usd
        self._meter = meter
        self._prices = prices
        self._reserved: list[CostBound] = []
        self._released = asyncio.Event()
        self._queue = asyncio.Lock()
        self._stop_message: str | None = None
        """The message of `RunStopped`, once the budget is used up."""

    def price(self, model: str) -> Price | None:
        """Return the price of the model.

        Raises:
            BadUsage: the price is unknown and the budget is in dollars; names the file and the line
                to add.
        """
        price = self._prices.find(model)
        if price is None and self.usd is not None:
            raise BadUsage(f"a budget in dollars needs prices, and {self._prices.missing(model)}")
        return price

    @asynccontextmanager
    async def reserve(self, bounds: Iterator[CostBound]) -> AsyncIterator[CostBound]:
        """Reserve the worst case of a request until the request is done.

        Requests are admitted in order. A request that does not fit waits for those before it:
        most of them use much less than they reserve. When none is left to wait for, a smaller
        bound is tried.

        Args:
            bounds: the full worst case first, then smaller ones that are also acceptable.

        Yields:
            The bound that is reserved.

        Raises:
            RunStopped: no bound fits and no request is in flight. No later request is admitted.
        """
        async with self._queue:
            bound = await self._first_fitting(bounds)
            self._reserved.append(bound)
        try:
            yield bound
        finally:
            self._reserved.remove(bound)
            self._released.set()

    def stop(self, bound: CostBound) -> RunStopped:
        """Admit no further request; return the error to raise.

        Args:
            bound: the bound that did not fit, or that was too small for the response.
        """
        self._stop_message = self._stop_message or self._message(bound)
        return RunStopped(self._stop_message)

    async def _first_fitting(self, bounds: Iterator[CostBound]) -> CostBound:
        bound = next(bounds)
        while self._reserved and not self._fits(bound):
            self._released.clear()
            await self._released.wait()
        while not self._fits(bound):
            smaller = next(bounds, None)
            if smaller is None:
                raise self.stop(bound)
            bound = smaller
        return bound

    def _fits(self, bound: CostBound) -> bool:
        if self._stop_message is not None:
            return False
        used, bounds = self._meter.total, [*self._reserved, bound]
        tokens = total_tokens(used) + sum(reserved.tokens for reserved in bounds)
        usd = (used.cost or 0.0) + sum(reserved.usd for reserved in bounds)
        return self._covers(CostBound(tokens, usd))

    def _message(self, bound: CostBound) -> str:
        used = self._meter.total
        spent, next_request = [], []
        if self.tokens is not None:
            spent.append(f"{total_tokens(used):,} of {self.tokens:,} tokens")
            next_request.append(f"{bound.tokens:,} tokens")
        if self.usd is not None:
            spent.append(f"{_dollars(used.cost or 0.0)} of {_dollars(self.usd)}")
            next_request.append(_dollars(bound.usd))
        command = "the same command" if self._covers(bound) else "the command with a larger budget"
        return (
            f"the budget is too small for another request: {' and '.join(spent)} are used, and the "
            f"next request may use up to {' and '.join(next_request)}; committed turns are kept, "
            f"and {command} resumes there"
        )

    def _covers(self, bound: CostBound) -> bool:
        """Return whether the whole budget would be enough for the bound."""
        return (self.tokens is None or bound.tokens <= self.tokens) and (
            self.usd is None or bound.usd <= self.usd
        )


class BudgetedModel:
    """A model that receives a request only if the budget covers its worst case."""

    def __init__(self, model: ChatModel, budget: Budget) -> None:
        """Put a model under a budget.

        Raises:
            BadUsage: the budget is in dollars and the price of the model is unknown.
        """
        self._model = model
        self._budget = budget
        self._price = budget.price(model.name)

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Send the request as soon as the budget covers it.

        Raises:
            RunStopped: the budget does not cover it, nor any later request.
        """
        async with self._budget.reserve(shrinking_bounds(request, self._price)) as bound:
            try:
                return await self._model.complete(replace(request, max_tokens=bound.max_tokens))
            except BadTurn as error:
                if bound.max_tokens == request.max_tokens:
                    raise
                # The full limit of the response might have been enough.
                raise self._budget.stop(worst_case(request, self._price)) from error

    async def close(self) -> None:
        await self._model.close()


def _dollars(usd: float) -> str:
    """Return an amount with enough digits to differ from zero."""
    return f"${usd:.12f}".rstrip("0") if 0 < usd < _CENT else f"${usd:,.4f}"
