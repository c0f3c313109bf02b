"""Usage errors of the command line as plain sentences."""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from cyclopts import (
    App,
    ArgumentCollection,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)
from cyclopts.validators import Number

from turnetl.base.errors import BadUsage
from turnetl.base.time_span import EXAMPLES

_EXPECTED: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "`true` or `false`",
    Path: "a path",
    Path | None: "a path",
    datetime | None: f"a time such as {EXAMPLES}",
}
"""What an option of each type takes."""
_OPTION = re.compile(r"(--?[A-Za-z][\w-]*)(?:=\S*)?")


def usage_sentence(error: CycloptsError) -> str:
    """Return what was not understood, what may be meant, and which help describes it."""
    match error:
        case UnknownCommandError():
            problem = _unknown_command(error)
        case UnknownOptionError():
            problem = _unknown_option(error)
        case UnusedCliTokensError():
            problem = _unexpected_arguments(error)
        case MissingArgumentError():
            problem = _missing_argument(error)
        case CoercionError():
            problem = _wrong_type(error)
        case ValidationError():
            problem = _out_of_range(error)
        case _:
            problem = _as_worded(error)
    return _with_help(problem, _command(error))


def check_words(app: App, command: str, words: Iterable[str]) -> None:
    """Check that no word of a text that may start with a hyphen looks like an option.

    `--- FAIL: TestCart` does not, nor a text with a space.
    """
    for word in words:
        if (option := _OPTION.fullmatch(word)) is not None:
            problem = _option_problem(option[1], app[command].assemble_argument_collection())
            raise BadUsage(_with_help(problem, " ".join((*app.name, command))))


def _with_help(problem: str, command: str) -> str:
    see = " See" if problem.endswith("?") else "; see"
    return f"{problem}{see} `{command} --help`"


def _unknown_command(error: UnknownCommandError) -> str:
    tokens = error.unused_tokens or [""]
    name = tokens[0]
    commands = [name for name in error.app or () if not name.startswith("-")]
    if name.startswith("-"):
        return _option_before_command(error, tokens, commands)
    return f"unknown command `{name}`{_suggestion(name, commands)}"


def _option_before_command(
    error: CycloptsError, tokens: Sequence[str], commands: Collection[str]
) -> str:
    place = next((place for place, token in enumerate(tokens) if token in commands), None)
    if place is None:
        return f"options follow the command: `{_command(error)} COMMAND {tokens[0]}`"
    right = " ".join((_command(error), tokens[place], *tokens[:place]))
    return f"options follow the command: `{right}`"


def _unknown_option(error: UnknownOptionError) -> str:
    name = (error.token.keyword or error.token.value).partition("=")[0]
    return _option_problem(name, error.argument_collection)


def _option_problem(name: str, arguments: ArgumentCollection) -> str:
    options = [name for argument in arguments for name in argument.names]
    return f"unknown option `{name}`{_suggestion(name, options)}"


def _unexpected_arguments(error: UnusedCliTokensError) -> str:
    arguments = error.unused_tokens or []
    noun = "argument" if len(arguments) == 1 else "arguments"
    return f"unexpected {noun} `{' '.join(arguments)}`"


def _missing_argument(error: MissingArgumentError) -> str:
    name = error.keyword or (error.argument.name if error.argument is not None else "")
    if name.startswith("-"):
        return f"option `{name}` needs a value"
    return f"`{_command(error)}` needs {name}"


def _wrong_type(error: CoercionError) -> str:
    if error.token is None or error.argument is None:
        return _as_worded(error)
    name, value = error.token.keyword or error.argument.name, error.token.value
    if get_origin(error.target_type) is Literal:
        choices = [str(choice) for choice in get_args(error.target_type)]
        return f"`{name}` takes {_either(choices)}, not `{value}`{_suggestion(value, choices)}"
    if error.target_type not in _EXPECTED:
        return _as_worded(error)
    return f"`{name}` takes {_EXPECTED[error.target_type]}, not `{value}`"


def _out_of_range(error: ValidationError) -> str:
    argument = error.argument
    if argument is None or not argument.tokens:
        return _as_worded(error)
    match argument.parameter.validator:
        case [Number() as limits]:
            token = argument.tokens[0]
            return f"`{token.keyword or argument.name}` must be {_range(limits)}, not {token.value}"
        case _:
            return _as_worded(error)


def _range(limits: Number) -> str:
    """Return the range of a validator; those of turnetl include their limits."""
    if limits.lte is None:
        return f"at least {limits.gte:,}"
    return f"from {limits.gte:,} to {limits.lte:,}"


def _either(choices: Sequence[str]) -> str:
    *others, last = (f"`{choice}`" for choice in choices)
    return f"{', '.join(others)} or {last}" if others else last


def _as_worded(error: CycloptsError) -> str:
    text = str(error).rstrip(".")
    return text[:1].lower() + text[1:]


def _command(error: CycloptsError) -> str:
    return " ".join(("turnetl", *(error.command_chain or ())))


def _suggestion(name: str, known: Iterable[str]) -> str:
    import difflib

    # Without their dashes, which all options share.
    names = {option.lstrip("-"): option for option in known}
    nearest = difflib.get_close_matches(name.lstrip("-"), names, n=1)
    return f"; did you mean `{names[nearest[0]]}`?" if nearest else ""
