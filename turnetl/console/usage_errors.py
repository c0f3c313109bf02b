"""Usage errors of the command line as plain sentences."""

from collections.abc import Iterable

from cyclopts import (
    CycloptsError,
    MissingArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)


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
        case _:
            text = str(error).rstrip(".")
            problem = text[:1].lower() + text[1:]
    see = " See" if problem.endswith("?") else "; see"
    return f"{problem}{see} `{_command(error)} --help`"


def _unknown_command(error: UnknownCommandError) -> str:
    (name, *_) = error.unused_tokens or ("",)
    commands = [name for name in error.app or () if not name.startswith("-")]
    return f"unknown command `{name}`{_suggestion(name, commands)}"


def _unknown_option(error: UnknownOptionError) -> str:
    name = (error.token.keyword or error.token.value).partition("=")[0]
    options = [name for argument in error.argument_collection for name in argument.names]
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


def _command(error: CycloptsError) -> str:
    return " ".join(("turnetl", *(error.command_chain or ())))


def _suggestion(name: str, known: Iterable[str]) -> str:
    import difflib

    # Without their dashes, which all options share.
    names = {option.lstrip("-"): option for option in known}
    nearest = difflib.get_close_matches(name.lstrip("-"), names, n=1)
    return f"; did you mean `{names[nearest[0]]}`?" if nearest else ""
