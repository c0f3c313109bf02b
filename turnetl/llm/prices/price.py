"""The price of one model, with the tiers of long prompts."""

from collections.abc import Iterator
from dataclasses import dataclass

from turnetl.base.model import Usage

_PER = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    cached_input: float
    """Price of prompt tokens read from the provider's prompt cache."""
    output: float
    cache_write: float | None = None
    """Price of prompt tokens written to that cache; None: the price of `input`."""
    tiers: tuple["PriceTier", ...] = ()
    """Prices of requests with long prompts, by ascending threshold."""

    def cost(self, usage: Usage, cache_write_tokens: int = 0) -> float:
        """Return the cost of one request in US dollars.

        Args:
            usage: of one request: a tier is chosen by its prompt.
            cache_write_tokens: prompt tokens that were written to the provider's prompt cache.
        """
        price = self
        for tier in self.tiers:
            if usage.prompt_tokens > tier.above:
                price = tier.price
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        written = min(cache_write_tokens, usage.prompt_tokens - cached)
        dollars = (
            (usage.prompt_tokens - cached - written) * price.input
            + cached * price.cached_input
            + written * (price.input if price.cache_write is None else price.cache_write)
            + usage.completion_tokens * price.output
        )
        return dollars / _PER

    def max_cost(self, usage: Usage) -> float:
        """Return an upper bound of the cost of requests that together use these tokens.

        For any tier and any cached share of the prompt, a token costs at most the highest price
        that a prompt of this length can reach.
        """
        prices = tuple(self._reachable(usage.prompt_tokens))
        dollars = usage.prompt_tokens * max(
            max(price.input, price.cached_input, price.cache_write or 0.0) for price in prices
        ) + usage.completion_tokens * max(price.output for price in prices)
        return dollars / _PER

    def _reachable(self, prompt_tokens: int) -> "Iterator[Price]":
        yield self
        yield from (tier.price for tier in self.tiers if prompt_tokens > tier.above)


@dataclass(frozen=True, slots=True)
class PriceTier:
    """The price of all tokens of a request whose prompt is longer than a threshold."""

    above: int
    """Prompt tokens."""
    price: Price
