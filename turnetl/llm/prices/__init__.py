"""Prices of models: the user's price files, then the offline data of `genai-prices`."""

from turnetl.llm.prices.price import Price, PriceFile, Prices, PriceTier, load_prices

__all__ = ["Price", "PriceFile", "PriceTier", "Prices", "load_prices"]
