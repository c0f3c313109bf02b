"""Which commands there are, and the names of their goldens."""

from collections.abc import Iterator

from cyclopts import App

from turnetl import cli
from turnetl.json_output.schemas import OUTPUTS

PROGRAM = "turnetl"
RECIPES_FILE = "recipes.json"


def commands(app: App = cli.app, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of the program, none, and of each command and subcommand."""
    yield above
    for name in app:
        if not name.startswith("-"):
            yield from commands(app[name], (*above, name))


def command_of(words: tuple[str, ...]) -> str:
    """Return the command with a result that the words call; else the program."""
    names = (" ".join(words[:length]) for length in (2, 1))
    return next((name for name in names if name in OUTPUTS), PROGRAM)


def file_name(command: str) -> str:
    return command.replace(" ", "_") or PROGRAM


def help_file(command: tuple[str, ...]) -> str:
    return f"help/{file_name(' '.join(command))}.txt"


def schema_file(command: str) -> str:
    return f"schema/{file_name(command)}.json"


def json_file(command: str, case: str = "") -> str:
    return f"json/{file_name(command)}{case and '-'}{case}.json"
