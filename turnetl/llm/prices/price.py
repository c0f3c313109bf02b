"""The price of one model, with the tiers of long prompts."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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


NAME = "prices.toml"


def _unknown(model: str) -> Price | None:  # noqa: ARG001 - knows no model
    return None


@dataclass(frozen=True, slots=True)
class Prices:
    """All known prices."""

    files: Sequence[Mapping[str, Price]] = ()
    """Prices by name or pattern, one mapping per price file. The first file that knows a model
    wins."""
    editable: Path = Path(NAME)
    """The file to which the user adds a missing price."""
    library: Callable[[str], Price | None] = _unknown
    """The lookup for models that no file has."""

    def find(self, model: str) -> Price | None:
        """Return the price of `provider/model`; None if it is unknown."""
        matches = (_best_match(file, model) for file in self.files)
        price = next((price for price in matches if price is not None), None)
        return self.library(model) if price is None else price

    def missing(self, model: str) -> str:
        """Return a sentence that says how to add the price of a model."""
        row = "{ input = DOLLARS, cached_input = DOLLARS, output = DOLLARS }"
        return (
            f"the price of model `{model}` is unknown: add the line `{_quoted(model)} = {row}` "
            f"(US dollars per million tokens) to `{self.editable}`"
        )


def _quoted(model: str) -> str:
    return json.dumps(model, ensure_ascii=False)


def _best_match(file: Mapping[str, Price], model: str) -> Price | None:
    """Return the price under the model's name, else under the longest pattern that matches."""
    if model in file:
        return file[model]
    matching = [name for name in file if "*" in name and _pattern(name).fullmatch(model)]
    return file[max(matching, key=lambda name: (len(name), name))] if matching else None


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, name.split("*"))))
