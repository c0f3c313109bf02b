"""Prices of models: the user's price files, then the offline data of the package `genai-prices`.

    "openai/gpt-4.1-mini" = { input = 0.40, cached_input = 0.10, output = 1.60 }

US dollars per million tokens. A `*` in a name matches any characters. The package could also
download newer prices; nothing here starts that. A newer release of it has newer prices.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from turnetl.base.errors import BadUsage
from turnetl.base.model import Usage

if TYPE_CHECKING:  # the import takes half a second
    from genai_prices.types import ModelPrice, TieredPrices

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
        """Return the cost of one request in US dollars: a tier is chosen by its prompt.

        `cache_write_tokens` are prompt tokens that were written to the provider's prompt cache.
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
    files: Sequence[Mapping[str, Price]] = ()
    """Prices by name or pattern, one mapping per price file. The first file that knows a model
    wins."""
    editable: Path = Path(NAME)
    """The file to which the user adds a missing price."""
    library: Callable[[str], Price | None] = _unknown
    """The lookup for models that no file has."""
    ignored: str | None = None
    """Says that there is another price file, why it is not used, and what to do."""

    def find(self, model: str) -> Price | None:
        """Return the price of `provider/model`; None if it is unknown."""
        matches = (_best_match(file, model) for file in self.files)
        price = next((price for price in matches if price is not None), None)
        return self.library(model) if price is None else price

    def missing(self, model: str) -> str:
        row = "{ input = DOLLARS, cached_input = DOLLARS, output = DOLLARS }"
        return (
            f"the price of model `{model}` is unknown: add the line `{_quoted(model)} = {row}` "
            f"(US dollars per million tokens) to `{self.editable}`"
            f"{f'; if it is in another file: {self.ignored}' if self.ignored else ''}"
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


_MAX_BYTES = 1_000_000
_MAX_DOLLARS = 100_000.0
_EXAMPLE = "{ input = 0.40, cached_input = 0.10, output = 1.60 }"


@dataclass(frozen=True, slots=True)
class PriceFile:
    path: Path
    content: bytes


def load_prices(
    project: PriceFile | None, home: Path, *, at: datetime, ignored: str | None = None
) -> Prices:
    """Return the prices of the project's file, of the user's file and of the library.

    Args:
        project: the file in the working directory of the run, if that is trusted and has one.
        at: the time for which the library's prices are taken: that of the run.
        ignored: the sentence about such a file that is not trusted.

    Raises:
        BadUsage: a file is invalid; names the file, the line and the reason.
    """

    @cache
    def library(model: str) -> Price | None:
        return find_price(model, at)

    of_project = [
        parse_price_file(_decoded(file.content, file.path), file.path)
        for file in (project,)
        if file is not None
    ]
    # The working directory of a Prefect worker is deleted after the run, the home stays.
    of_user = home / ".graphiti" / NAME
    return Prices((*of_project, *read_price_files(of_user)), of_user, library, ignored)


def read_price_files(*paths: Path) -> tuple[dict[str, Price], ...]:
    """Return the content of price files, the strongest first. A missing file is skipped."""
    texts = ((path, _text(path)) for path in paths)
    return tuple(parse_price_file(text, path) for path, text in texts if text is not None)


def parse_price_file(text: str, path: Path) -> dict[str, Price]:
    """Return the prices in the text of a price file, by name or pattern."""
    try:
        rows = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadUsage(f"the price file `{path}` is not valid TOML: {error}; correct it") from error
    return {
        name: _parsed(name, row, f"`{path}`, line {_line(text, name)}, `{name}`")
        for name, row in rows.items()
    }


class _PriceRow(msgspec.Struct, forbid_unknown_fields=True):
    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None


def _text(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadUsage(
            f"cannot read the price file `{path}` ({reason}); correct or move it"
        ) from error
    if len(content) > _MAX_BYTES:
        raise BadUsage(f"the price file `{path}` is larger than a megabyte; shorten it")
    return _decoded(content, path)


def _decoded(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadUsage(f"the price file `{path}` is not UTF-8 text; correct it") from error


def _parsed(name: str, row: Any, location: str) -> Price:
    if "/" not in name and "*" not in name:
        raise BadUsage(f"{location}: name the model with its provider, as in `openai/gpt-4.1-mini`")
    try:
        parsed = msgspec.convert(row, _PriceRow)
    except msgspec.ValidationError as error:
        raise BadUsage(f"{location}: {_without_path(error)}; write `{_EXAMPLE}`") from error
    cached = parsed.input if parsed.cached_input is None else parsed.cached_input
    written = parsed.input if parsed.cache_write is None else parsed.cache_write
    for dollars in (parsed.input, cached, parsed.output, written):
        if not 0 <= dollars <= _MAX_DOLLARS:
            raise BadUsage(f"{location}: {dollars} is not a price in US dollars; write 0 or more")
    if cached > parsed.input:
        raise BadUsage(f"{location}: `cached_input` is above `input`; swap the two prices")
    return Price(parsed.input, cached, parsed.output, parsed.cache_write)


def _without_path(error: msgspec.ValidationError) -> str:
    """Return msgspec's message without its path: the line number says where."""
    return str(error).split(" - at ")[0].replace("Object", "the price")


def _line(text: str, name: str) -> int:
    key = re.compile(rf"""\s*\[?\s*["']?{re.escape(name)}(?=["'\s=.\]]|$)""")
    numbered = enumerate(text.splitlines(), start=1)
    return next((number for number, line in numbered if key.match(line)), 1)


_PROVIDERS: Mapping[str, str] = {"openai": "openai", "anthropic": "anthropic", "gemini": "google"}
"""The library's names. Which provider runs an `openai-compatible` server is unknown."""
_OPENAI_EMBEDDINGS = "openai-compatible/text-embedding-"
"""The embedder of OpenAI's own models has the name of the compatible ones."""


def find_price(model: str, at: datetime) -> Price | None:
    """Return the price of `provider/model`; None if the library does not know it.

    Some prices apply from a date on, or at certain hours.
    """
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - half a second

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


def _price(prices: "ModelPrice") -> Price | None:
    """Return the price, with a tier for each threshold of any of its parts."""
    if prices.input_mtok is None:
        return None
    parts = (prices.input_mtok, prices.cache_read_mtok, prices.cache_write_mtok, prices.output_mtok)
    tiered = (part for part in parts if part is not None and not isinstance(part, Decimal))
    thresholds = sorted({tier.start for part in tiered for tier in part.tiers})
    return _price_at(
        prices, 0, tuple(PriceTier(start, _price_at(prices, start + 1)) for start in thresholds)
    )


def _price_at(prices: "ModelPrice", prompt_tokens: int, tiers: tuple[PriceTier, ...] = ()) -> Price:
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


def _dollars(price: "Decimal | TieredPrices | None", prompt_tokens: int) -> float | None:
    if price is not None and not isinstance(price, Decimal):
        reached = [tier.price for tier in price.tiers if prompt_tokens > tier.start]
        price = reached[-1] if reached else price.base
    return None if price is None else float(price)
