"""The price of any model: the first source that knows it wins."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from turnetl.llm.prices.price import Price

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
