"""A command to type next, as it can be typed here."""

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

_USUAL_LAKE = Path("data/lake")


def search(program: Path, here: Path, options: Mapping[str, Path | str | None]) -> str:
    """Return `turnetl search` with the options that lead to the same graph.

    Args:
        program: how this process was called.
        here: the working directory.
        options: `--lake`, `--graph`, `--config` as they were given; None if they were not.
    """
    words = [_called(program, here), "search"]
    for name, value in options.items():
        if value is not None and value != _USUAL_LAKE:
            words += [name, _without_login(str(value))]
    return shlex.join(words)


def _without_login(value: str) -> str:
    """Return the URL of a server without user and password: NEO4J_PASSWORD is read as well."""
    scheme, found, rest = value.partition("://")
    local = not found or scheme == "ladybug"
    return value if local else f"{scheme}://{rest.rpartition('@')[2]}"


def _called(program: Path, here: Path) -> str:
    found = shutil.which("turnetl")
    if found is not None and Path(found).resolve() == program.resolve():
        return "turnetl"
    whole = program.absolute()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)
