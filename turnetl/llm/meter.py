"""What a run really used, by prompt: every attempt that was made, whatever came of it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.prices import Prices
from turnetl.model import Usage

EMBEDDINGS = "embeddings"

_BYTES_A_TOKEN = 3


class Meter:
    """Counts for one run, over all its models and groups."""

    def __init__(self, prices: Prices, *, clock: Callable[[], float] = time.perf_counter) -> None:
        """Start at nothing.

        Args:
            prices: what the models cost.
            clock: seconds from any beginning.
        """
        self.prices = prices
        self.clock = clock
        self.total = Usage()
        """What a budget is held against."""
        self._by_prompt: dict[str, Usage] = {}

    def add(self, prompt: str, usage: Usage) -> None:
        self._by_prompt[prompt] = self._by_prompt.get(prompt, Usage()) + usage
        self.total += usage

    def add_embeddings(self, model: str, usage: Usage) -> None:
        """Count a request to an embedder, beside the total: no budget is for it."""
        price = self.prices.of(model)
        if usage.prompt_tokens:
            usage = replace(usage, cost=price.of(usage) if price else None)
        self._by_prompt[EMBEDDINGS] = self._by_prompt.get(EMBEDDINGS, Usage()) + usage

    def by_prompt(self) -> Mapping[str, Usage]:
        """Return what was used so far, sorted by the prompt's name; embeddings under their own."""
        return dict(sorted(self._by_prompt.items()))


class MeteredModel:
    """A model of which every attempt is counted. Its answers know their seconds and their cost."""

    def __init__(self, model: ChatModel, meter: Meter) -> None:
        self._model = model
        self._meter = meter
        self._price = meter.prices.of(model.name)

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        began = self._meter.clock()
        try:
            answer = await self._model.complete(request)
        except BaseException:
            # What the provider asks for an answer that never came is not known.
            usage = Usage(calls=1, seconds=self._meter.clock() - began)
            self._meter.add(request.prompt_name, usage)
            raise
        answer = replace(_counted(request, answer), seconds=self._meter.clock() - began)
        answer = replace(answer, cost=self._price.of(answer.usage) if self._price else None)
        self._meter.add(request.prompt_name, answer.usage)
        return answer

    async def close(self) -> None:
        await self._model.close()


def _counted(request: ChatRequest, answer: ChatResponse) -> ChatResponse:
    """Return the answer with estimates where the provider says nothing of tokens.

    A budget would never end otherwise.
    """
    prompt = (said.text for said in request.messages)
    return replace(
        answer,
        prompt_tokens=answer.prompt_tokens or estimate_tokens(*prompt),
        completion_tokens=answer.completion_tokens or estimate_tokens(answer.text),
    )


def estimate_tokens(*texts: str) -> int:
    """Return about as many tokens as the texts have, rather more than less."""
    return sum(-(-len(text.encode("utf-8", "replace")) // _BYTES_A_TOKEN) for text in texts)
