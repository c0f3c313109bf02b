"""What a request that was not sent would use, from requests that were."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import stdev

from turnetl.base.model import Usage
from turnetl.estimation.interval import CONFIDENCE, MIN_SAMPLE, student_quantile
from turnetl.estimation.observed_requests import ObservedRequest
from turnetl.estimation.usage_range import UsageByPrompt
from turnetl.llm.prices import Price


@dataclass(frozen=True, slots=True)
class PromptMeans:
    """Of the requests of one prompt, or of all."""

    requests: int
    ratio: float
    """Tokens of the prompts as the provider counts them, per estimated token."""
    calls: float
    """Attempts per request: the tokens of a prompt count with each."""
    completion_tokens: float
    """Per request."""
    seconds: float
    """Per request."""
    completion_margin: float = 0.0
    """Half the interval of the mean of `completion_tokens`; 0 for earlier runs, of which only the
    mean is known."""


class Calibration:
    """The usage of requests by prompt, learned from responses."""

    def __init__(
        self,
        observed: Iterable[ObservedRequest],
        price: Callable[[str], Price | None],
        earlier: Mapping[str, PromptMeans],
    ) -> None:
        """Learn from requests.

        Args:
            observed: those that were sent teach; the others do not.
            price: returns the price of the model of a prompt.
            earlier: of earlier runs, for prompts of which none was sent.
        """
        sent: dict[str, list[ObservedRequest]] = {}
        for request in observed:
            if request.usage is not None and request.usage.calls:
                sent.setdefault(request.prompt, []).append(request)
        self._price = price
        self._by_prompt = {prompt: _means(requests) for prompt, requests in sent.items()}
        self._all = _means([request for requests in sent.values() for request in requests])
        self._earlier = {
            prompt: replace(means, ratio=self._all.ratio) for prompt, means in earlier.items()
        }

    def usage(self, requests: Iterable[ObservedRequest]) -> UsageByPrompt:
        """Return the usage of requests by prompt: as counted, else as expected."""
        found: dict[str, Usage] = {}
        for request in requests:
            usage = request.usage if request.usage is not None else self._expected(request)
            found[request.prompt] = found.get(request.prompt, Usage()) + usage
        return found

    def seconds(self, prompt: str) -> float:
        """Return the mean latency of the requests of a prompt."""
        return self._of(prompt).seconds

    def completion_margin(self, prompt: str) -> float:
        """Return by how many tokens the mean response to a prompt may differ from the truth."""
        return self._of(prompt).completion_margin

    def _expected(self, request: ObservedRequest) -> Usage:
        means = self._of(request.prompt)
        prompt_tokens = round(request.tokens * means.ratio * means.calls)
        completion_tokens = round(means.completion_tokens)
        price = self._price(request.prompt)
        usage = Usage(1, prompt_tokens, completion_tokens, None, 0, means.seconds)
        return usage if price is None else replace(usage, cost=price.cost(usage))

    def _of(self, prompt: str) -> PromptMeans:
        if (means := self._by_prompt.get(prompt)) is not None:
            return means
        return self._earlier.get(prompt, self._all)


def _means(requests: Sequence[ObservedRequest]) -> PromptMeans:
    total = sum((request.usage for request in requests if request.usage is not None), Usage())
    estimated, count = sum(request.tokens for request in requests), max(len(requests), 1)
    calls = total.calls / count if requests else 1.0
    ratio = total.prompt_tokens / calls / estimated if estimated else 1.0
    return PromptMeans(
        requests=len(requests),
        ratio=ratio,
        calls=calls,
        completion_tokens=total.completion_tokens / count,
        seconds=total.seconds / count,
        completion_margin=_margin(requests),
    )


def _margin(requests: Sequence[ObservedRequest]) -> float:
    """Return half the interval of the mean length of the responses; of one, its length."""
    lengths = [one.usage.completion_tokens for one in requests if one.usage is not None]
    if len(lengths) < MIN_SAMPLE:
        return float(sum(lengths))
    quantile = student_quantile((1 + CONFIDENCE) / 2, len(lengths) - 1)
    return quantile * stdev(lengths) / math.sqrt(len(lengths))
