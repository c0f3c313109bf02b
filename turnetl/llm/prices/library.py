"""Prices from the data inside the package `genai-prices`.

Importing it takes half a second: this module is imported when a price is first needed. The package
could also download newer prices; nothing here starts that. A newer release of it has newer prices.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelPrice, TieredPrices

from turnetl.llm.prices.price import Price, PriceTier

_PROVIDERS: Mapping[str, str] = {"openai": "openai", "anthropic": "anthropic", "gemini": "google"}
"""The library's names. Which provider runs an `openai-compatible` server is unknown."""
_OPENAI_EMBEDDINGS = "openai-compatible/text-embedding-"
"""The embedder of OpenAI's own models has the name of the compatible ones."""


def find_price(model: str, at: datetime) -> Price | None:
    """Return the price of `provider/model`; None if the library does not know it.

    Some prices apply from a date on, or at certain hours.
    """
    provider, _, name = model.partition("/")
    if model.startswith(_OPENAI_EMBEDDINGS):
        provider = "openai"
    if provider not in _PROVIDERS:
        return None
    name = name.removeprefix("models/")
    try:
        _, info = get_snapshot().find_provider_model(name, None, _PROVIDERS[provider], None)
    except LookupError:
        return None
    return _price(info.get_prices(at))


def _price(prices: ModelPrice) -> Price | None:
    """Return the price, with a tier for each threshold of any of its parts."""
    if prices.input_mtok is None:
        return None
    parts = (prices.input_mtok, prices.cache_read_mtok, prices.cache_write_mtok, prices.output_mtok)
    tiered = (part for part in parts if isinstance(part, TieredPrices))
    thresholds = sorted({tier.start for part in tiered for tier in part.tiers})
    return _price_at(
        prices, 0, tuple(PriceTier(start, _price_at(prices, start + 1)) for start in thresholds)
    )


def _price_at(prices: ModelPrice, prompt_tokens: int, tiers: tuple[PriceTier, ...] = ()) -> Price:
    per_token = _dollars(prices.input_mtok, prompt_tokens) or 0.0
    cached = _dollars(prices.cache_read_mtok, prompt_tokens)
    return Price(
        input=per_token,
        cached_input=per_token if cached is None else cached,
        # Embedding models have none.
        output=_dollars(prices.output_mtok, prompt_tokens) or 0.0,
        cache_write=_dollars(prices.cache_write_mtok, prompt_tokens),
        tiers=tiers,
    )


def _dollars(price: Decimal | TieredPrices | None, prompt_tokens: int) -> float | None:
    if isinstance(price, TieredPrices):
        reached = [tier.price for tier in price.tiers if prompt_tokens > tier.start]
        price = reached[-1] if reached else price.base
    return None if price is None else float(price)
