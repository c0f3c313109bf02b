"""Usage of a run by prompt: every attempt counts, whether or not it succeeded."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from turnetl.base.model import Usage
from turnetl.base.text import estimate_tokens
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse, ModelWrapper
from turnetl.llm.prices import Prices

EMBEDDINGS = "embeddings"


class Meter:
    """Counts the usage of one run, over all its models and groups."""

    def __init__(self, prices: Prices, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self.prices = prices
        self.clock = clock
        self.total = Usage()
        """The usage that a budget limits."""
        self._by_prompt: dict[str, Usage] = {}

    def add(self, prompt_name: str, usage: Usage) -> None:
        self._by_prompt[prompt_name] = self._by_prompt.get(prompt_name, Usage()) + usage
        self.total += usage

    def add_embeddings(self, model: str, usage: Usage) -> None:
        """Count a request to an embedder. It is not part of the total: no budget limits it."""
        price = self.prices.find(model)
        if usage.prompt_tokens:
            usage = replace(usage, cost=price.cost(usage) if price else None)
        self._by_prompt[EMBEDDINGS] = self._by_prompt.get(EMBEDDINGS, Usage()) + usage

    def by_prompt(self) -> Mapping[str, Usage]:
        """Return the usage so far, sorted by prompt name; embeddings have a row of their own."""
        return dict(sorted(self._by_prompt.items()))


class MeteredModel(ModelWrapper):
    """A model whose attempts are counted. Adds seconds and cost to its responses."""

    def __init__(self, model: ChatModel, meter: Meter) -> None:
        super().__init__(model)
        self._meter = meter
        self._price = meter.prices.find(model.name)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        started = self._meter.clock()
        try:
            response = await self._model.complete(request)
        except BaseException:
            # The cost of a response that did not arrive is unknown.
            usage = Usage(calls=1, seconds=self._meter.clock() - started)
            self._meter.add(request.prompt_name, usage)
            raise
        response = _with_token_counts(request, response)
        response = replace(
            response, seconds=self._meter.clock() - started, cost=self._cost(response)
        )
        self._meter.add(request.prompt_name, response.usage)
        return response

    def _cost(self, response: ChatResponse) -> float | None:
        if self._price is None:
            return None
        return self._price.cost(response.usage, response.cache_write_tokens)


def _with_token_counts(request: ChatRequest, response: ChatResponse) -> ChatResponse:
    """Return the response with estimates where the provider reports no token counts.

    Without an estimate, a budget would have no effect.
    """
    prompt = (message.text for message in request.messages)
    return replace(
        response,
        prompt_tokens=response.prompt_tokens or estimate_tokens(*prompt),
        completion_tokens=response.completion_tokens or estimate_tokens(response.text),
    )
