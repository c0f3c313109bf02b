"""Checks of texts and of the options that select turns, before anything is opened."""

from collections.abc import Sequence
from datetime import datetime

from turnetl.base.errors import BadUsage
from turnetl.base.time_span import check_between


def joined_words(command: str, words: Sequence[str]) -> str:
    """Return the words of a text that may start with a hyphen.

    Raises:
        BadUsage: a word looks like an option that the command does not have.
    """
    from turnetl.cli import app
    from turnetl.console.usage_errors import check_words

    check_words(app, command, words)
    return " ".join(words)


def check_values(**options: str | None) -> None:
    """Check that no option is empty, by the name of its parameter.

    Raises:
        BadUsage: an option is empty.
    """
    for name, value in options.items():
        if value is not None and not value.strip():
            raise BadUsage(f"`--{name}` is empty: give it a value, or omit it")


def check_times(since: datetime | None, **ends: datetime | None) -> None:
    """Check that some time lies between --since and each end, by the name of its parameter.

    Raises:
        BadUsage: none does.
    """
    named = {f"`--{name.replace('_', '-')}`": end for name, end in ends.items()}
    check_between(since, named, "`--since`")
