"""What models cost, from price files that a person may edit.

    "openai/gpt-4.1-mini" = { input = 0.40, cached_input = 0.10, output = 1.60 }

US dollars per million tokens. A `*` in a name stands for anything.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from turnetl.errors import BadUsage
from turnetl.model import Usage

NAME = "prices.toml"

_MOST_BYTES = 1_000_000
_MOST_DOLLARS = 100_000.0
_PER = 1_000_000
_FORM = "{ input = 0.40, cached_input = 0.10, output = 1.60 }"
_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    cached_input: float
    output: float

    def of(self, usage: Usage) -> float:
        """Return what the tokens cost, in US dollars."""
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        dollars = (
            (usage.prompt_tokens - cached) * self.input
            + cached * self.cached_input
            + usage.completion_tokens * self.output
        )
        return dollars / _PER


@dataclass(frozen=True, slots=True)
class Prices:
    """What is known of prices."""

    files: Sequence[Mapping[str, Price]] = ()
    """What each file says, by name or pattern; the first one that knows a model wins."""
    editable: Path = Path(NAME)
    """Where a person adds what is missing."""

    def of(self, model: str) -> Price | None:
        """Return the price of `provider/model`; None if no file knows it."""
        found = (_best(file, model) for file in self.files)
        return next((price for price in found if price is not None), None)

    def missing(self, model: str) -> str:
        """Say how the price of a model is made known."""
        form = "{ input = DOLLARS, cached_input = DOLLARS, output = DOLLARS }"
        return (
            f"the price of model `{model}` is not known: add the line `{_quoted(model)} = "
            f"{form}` (US dollars per million tokens) to `{self.editable}`"
        )


def default_paths(project: Path, home: Path) -> tuple[Path, ...]:
    """Return where price files are: the project's, the person's, the built-in one.

    Args:
        project: the working directory of the run.
        home: the person's home directory.
    """
    inside = _PACKAGE / "_templates"
    built_in = inside if inside.is_dir() else _PACKAGE.parent / "templates"
    return (*(place / ".graphiti" / NAME for place in (project, home)), built_in / NAME)


def read_price_files(*paths: Path) -> Prices:
    """Read price files, the strongest first; those that are not there are passed over.

    Raises:
        BadUsage: a file makes no sense; says which, in which line, and why.
    """
    said = ((path, _text(path)) for path in paths)
    files = [parse_price_file(text, path) for path, text in said if text is not None]
    return Prices(tuple(files), next(iter(paths), Path(NAME)))


def parse_price_file(text: str, path: Path) -> dict[str, Price]:
    """Return what the text of a price file says.

    Raises:
        BadUsage: as `read_price_files`.
    """
    try:
        rows = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadUsage(f"the price file `{path}` is no TOML: {error}; mend it") from error
    return {name: _entry(name, row, _where(path, text, name)) for name, row in rows.items()}


class _PriceRow(msgspec.Struct, forbid_unknown_fields=True):
    input: float
    output: float
    cached_input: float | None = None


def _quoted(model: str) -> str:
    return json.dumps(model, ensure_ascii=False)


def _best(file: Mapping[str, Price], model: str) -> Price | None:
    """Return what the file says of the model: by its name, or else by the longest pattern."""
    if model in file:
        return file[model]
    fitting = [name for name in file if "*" in name and _pattern(name).fullmatch(model)]
    return file[max(fitting, key=lambda name: (len(name), name))] if fitting else None


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, name.split("*"))))


def _text(path: Path) -> str | None:
    """Return what stands in the file; None if there is none."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        why = error.strerror or str(error)
        raise BadUsage(
            f"the price file `{path}` cannot be read ({why}); mend or move it"
        ) from error
    except UnicodeDecodeError as error:
        raise BadUsage(f"the price file `{path}` is not UTF-8 text; mend it") from error
    if len(content) > _MOST_BYTES:
        raise BadUsage(f"the price file `{path}` is larger than a megabyte; shorten it")
    return text


def _entry(name: str, row: Any, where: str) -> Price:
    if "/" not in name and "*" not in name:
        raise BadUsage(f"{where}: name the model with its provider, as in `openai/gpt-4.1-mini`")
    try:
        said = msgspec.convert(row, _PriceRow)
    except msgspec.ValidationError as error:
        raise BadUsage(f"{where}: {_plain(error)}; write `{_FORM}`") from error
    cached = said.input if said.cached_input is None else said.cached_input
    price = Price(input=said.input, cached_input=cached, output=said.output)
    for dollars in (price.input, price.cached_input, price.output):
        if not 0 <= dollars <= _MOST_DOLLARS:
            raise BadUsage(f"{where}: {dollars} is no price in US dollars; write 0 or more")
    if price.cached_input > price.input:
        raise BadUsage(f"{where}: tokens read before cost more than others; swap the two prices")
    return price


def _plain(error: msgspec.ValidationError) -> str:
    """Return msgspec's words without its path: the line says where."""
    return str(error).split(" - at ")[0].replace("Object", "the price")


def _where(path: Path, text: str, name: str) -> str:
    return f"`{path}`, line {_line(text, name)}, `{name}`"


def _line(text: str, name: str) -> int:
    """Return the number of the line in which the name stands first, as a key."""
    key = re.compile(rf"""\s*\[?\s*["']?{re.escape(name)}(?=["'\s=.\]]|$)""")
    numbered = enumerate(text.splitlines(), start=1)
    return next((number for number, line in numbered if key.match(line)), 1)
