"""Price files of the user, which win over the prices of the library.

    "openai/gpt-4.1-mini" = { input = 0.40, cached_input = 0.10, output = 1.60 }

US dollars per million tokens. A `*` in a name matches any characters.
"""

import re
import tomllib
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from turnetl.base.errors import BadUsage
from turnetl.llm.prices.price import NAME, Price, Prices

_MAX_BYTES = 1_000_000
_MAX_DOLLARS = 100_000.0
_EXAMPLE = "{ input = 0.40, cached_input = 0.10, output = 1.60 }"


@dataclass(frozen=True, slots=True)
class PriceFile:
    """A price file that was read."""

    path: Path
    content: bytes


def load_prices(project: PriceFile | None, home: Path, *, at: datetime) -> Prices:
    """Return the prices of the project's file, of the user's file and of the library.

    Args:
        project: the file in the working directory of the run, if that is trusted and has one.
        home: the user's home directory.
        at: the time for which the library's prices are taken: that of the run.

    Raises:
        BadUsage: a file is invalid; names the file, the line and the reason.
    """

    @cache
    def library(model: str) -> Price | None:
        from turnetl.llm.prices.library import find_price  # noqa: PLC0415 - takes half a second

        return find_price(model, at)

    texts = [(_decoded(file.content, file.path), file.path) for file in (project,) if file]
    of_project = [parse_price_file(text, path) for text, path in texts]
    # The working directory of a Prefect worker is deleted after the run, the home stays.
    of_user = home / ".graphiti" / NAME
    return Prices((*of_project, *read_price_files(of_user)), of_user, library)


def read_price_files(*paths: Path) -> tuple[dict[str, Price], ...]:
    """Return the content of price files, the strongest first. A missing file is skipped.

    Raises:
        BadUsage: as `load_prices`.
    """
    texts = ((path, _text(path)) for path in paths)
    return tuple(parse_price_file(text, path) for path, text in texts if text is not None)


def parse_price_file(text: str, path: Path) -> dict[str, Price]:
    """Return the prices in the text of a price file, by name or pattern.

    Raises:
        BadUsage: as `load_prices`.
    """
    try:
        rows = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadUsage(f"the price file `{path}` is not valid TOML: {error}; correct it") from error
    return {name: _price(name, row, _location(path, text, name)) for name, row in rows.items()}


class _PriceRow(msgspec.Struct, forbid_unknown_fields=True):
    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None


def _text(path: Path) -> str | None:
    """Return the content of the file; None if it does not exist."""
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


def _price(name: str, row: Any, location: str) -> Price:
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


def _location(path: Path, text: str, name: str) -> str:
    return f"`{path}`, line {_line(text, name)}, `{name}`"


def _line(text: str, name: str) -> int:
    """Return the number of the first line that has the name as its key."""
    key = re.compile(rf"""\s*\[?\s*["']?{re.escape(name)}(?=["'\s=.\]]|$)""")
    numbered = enumerate(text.splitlines(), start=1)
    return next((number for number, line in numbered if key.match(line)), 1)
