"""Checks of the options that select turns, before anything is opened."""

from datetime import datetime

from turnetl.errors import BadUsage
from turnetl.time_span import check_between


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
