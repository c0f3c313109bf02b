"""Prices of models: the user's price files, then the offline data of `genai-prices`."""

from turnetl.llm.prices.price import Price, Prices, PriceTier
from turnetl.llm.prices.price_files import PriceFile, load_prices

__all__ = ["Price", "PriceFile", "PriceTier", "Prices", "load_prices"]
