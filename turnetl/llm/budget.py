"""A hard limit on the usage of a run, in tokens and in dollars, over all its groups and models.

Before each attempt of a request the most that it may use is reserved, so that the usage never
exceeds the budget. After the response, only the usage that the meter counted remains.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from turnetl.base.errors import BadUsage, BudgetExhausted
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse, ModelWrapper
from turnetl.llm.costs import (
    Account,
    Amount,
    CostBound,
    PromptBounds,
    ResponseLimits,
    amount_of,
    current_account,
    worst_case,
)
from turnetl.llm.loops import is_truncated
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price, Prices

_CENT = 0.01


class Budget:
    """The limits of a run. One object per process."""

    def __init__(self, tokens: int | None, usd: float | None, meter: Meter, prices: Prices) -> None:
        """Limit the total of a meter, in tokens of prompts and responses and in US dollars."""
        self.tokens = tokens
        self.usd = usd
        self.repeated = 0
        """Responses that a limit smaller than that of their request truncated: paid for twice."""
        self._meter = meter
        self._prices = prices
        self._reserved: list[CostBound] = []
        self._released = asyncio.Event()
        self._queue = asyncio.Lock()
        self._stop_message: str | None = None
        """The message of `BudgetExhausted`, once the budget is used up."""

    @property
    def used(self) -> Amount:
        return amount_of(self._meter.total)

    def price(self, model: str) -> Price | None:
        """Return the price; BadUsage names the line to add if a budget in dollars lacks it."""
        price = self._prices.find(model)
        if price is None and self.usd is not None:
            raise BadUsage(f"a budget in dollars needs prices, and {self._prices.missing(model)}")
        return price

    def covers(self, more: Amount) -> bool:
        return self._allows(self.used + more)

    def expected(self, prompt_name: str) -> Amount:
        """Return what a request has used on average: one of that prompt, or else any."""
        usage = self._meter.by_prompt().get(prompt_name)
        if usage is None or not usage.completion_tokens:
            usage = self._meter.total
        return amount_of(usage) * (1 / max(usage.calls, 1))

    @asynccontextmanager
    async def reserve(
        self, sufficient: Sequence[CostBound], smaller: Iterable[CostBound] = ()
    ) -> AsyncIterator[CostBound]:
        """Reserve the largest bound that fits, for what a request may use, until it is done.

        Requests are admitted in order. A request that does not fit waits for those before it: most
        of them use much less than they reserve. When no request is left to wait for, the smaller
        bounds are tried, also largest first; then BudgetExhausted is raised, and no later request
        is admitted.
        """
        async with self._queue:
            bound = await self._first_fitting(sufficient, smaller)
            self._reserved.append(bound)
        try:
            yield bound
        finally:
            self._reserved.remove(bound)
            self._released.set()

    def too_small(self, work: str, needed: Amount) -> BudgetExhausted:
        """Return the error of a run whose budget does not cover another `request` or `turn`."""
        used, spent, more = self.used, [], []
        if self.tokens is not None:
            spent.append(f"{used.tokens:,.0f} of {self.tokens:,} tokens")
            more.append(f"{needed.tokens:,.0f} tokens")
        if self.usd is not None:
            spent.append(f"{_dollars(used.usd)} of {_dollars(self.usd)}")
            more.append(_dollars(needed.usd))
        is_enough = self._allows(needed)
        command = "the same command" if is_enough else "the command with a larger budget"
        return BudgetExhausted(
            f"the budget is too small for another {work}: {' and '.join(spent)} are used, and the "
            f"next {work} may use up to {' and '.join(more)}; finished work is kept, "
            f"and {command} resumes there"
        )

    async def _first_fitting(
        self, sufficient: Sequence[CostBound], smaller: Iterable[CostBound]
    ) -> CostBound:
        while True:
            for bound in sufficient:
                if self._fits(bound):
                    return bound
            if not self._reserved:
                break
            self._released.clear()
            await self._released.wait()
        last = sufficient[-1]
        for last in smaller:
            if self._fits(last):
                return last
        self._stop_message = self._stop_message or str(self.too_small("request", last.amount))
        raise BudgetExhausted(self._stop_message)

    def _fits(self, bound: CostBound) -> bool:
        if self._stop_message is not None:
            return False
        return self.covers(sum((reserved.amount for reserved in self._reserved), bound.amount))

    def _allows(self, total: Amount) -> bool:
        return (self.tokens is None or total.tokens <= self.tokens) and (
            self.usd is None or total.usd <= self.usd
        )


class BudgetedModel(ModelWrapper):
    """A model that receives a request only if the budget covers the most that it may use.

    A request has its own limit of the response as long as the budget covers that, else the limit
    that such requests have needed so far. A response that the smaller limit truncates is requested
    again.
    """

    def __init__(self, model: ChatModel, budget: Budget) -> None:
        """Put a model that makes one attempt per request under a budget; see `Budget.price`."""
        super().__init__(model)
        self._budget = budget
        self._price = budget.price(model.name)
        self._limits = ResponseLimits()
        self._prompts = PromptBounds()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Send the request as soon as the budget covers it.

        BudgetExhausted: it does not cover it, nor any later request; or not the turn of the
        request.
        """
        account = current_account()
        with account.request(self._budget.expected(request.prompt_name)):
            sufficient, smaller = self._limits.sufficient(request), self._limits.smaller(request)
            response, limit = await self._send(request, sufficient, smaller, account)
            while limit < request.max_tokens and is_truncated(response, limit):
                self._budget.repeated += 1
                spent, larger = response.usage, self._limits.larger(request, limit)
                response, limit = await self._send(request, larger, (), account)
                response = response.with_usage(response.usage + spent)
        return response

    async def _send(
        self,
        request: ChatRequest,
        sufficient: Sequence[int],
        smaller: Iterable[int],
        account: Account,
    ) -> tuple[ChatResponse, int]:
        """Return the response, and the limit that it had."""
        bounds = self._bounds(request, sufficient), self._bounds(request, smaller)
        async with self._budget.reserve(*map(list, bounds)) as bound:
            response = await self._model.complete(replace(request, max_tokens=bound.max_tokens))
            self._limits.add(request.prompt_name, response.completion_tokens)
            self._prompts.add(request, response.prompt_tokens)
            (least,) = self._bounds(request, [self._limits.least(request)])
            account.charge(amount_of(response.usage), least.amount)
        return response, bound.max_tokens

    def _bounds(self, request: ChatRequest, limits: Iterable[int]) -> Iterator[CostBound]:
        prompt_tokens = self._prompts.max_tokens(request)
        for limit in limits:
            yield worst_case(replace(request, max_tokens=limit), self._price, prompt_tokens)


def _dollars(usd: float) -> str:
    """Return an amount with enough digits to differ from zero."""
    return f"${usd:.12f}".rstrip("0") if 0 < usd < _CENT else f"${usd:,.4f}"
