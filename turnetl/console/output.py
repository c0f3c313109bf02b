"""Printing of results, messages and progress."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from turnetl.console import terminal

if TYPE_CHECKING:  # these take time to import, which `--help` must not spend
    from turnetl.json_output.base import JsonOutput
    from turnetl.progress import Progress


def print_messages(messages: Iterable[str]) -> None:
    """Print sentences for the user on standard error."""
    for message in messages:
        print(f"turnetl: {message}", file=sys.stderr)


def print_text(text: str) -> None:
    """Print a text on standard output as it is."""
    print(text)


def print_result(view: Any, output: "JsonOutput", *, as_json: bool) -> None:
    """Print the result on standard output.

    Args:
        view: what rich can render, or a text that is printed as it is.
        output: the object that `--json` prints.
        as_json: print the object.
    """
    if as_json:
        print_text(output.encode())
    elif isinstance(view, str):
        print_text(view)
    else:
        terminal.rich_console().print(view, crop=False)


@contextmanager
def show_progress(*, as_json: bool) -> Iterator["Progress"]:
    """Show progress bars on standard error if it is a terminal, and log each finished stage."""
    from turnetl.console.progress_bars import ProgressBars
    from turnetl.console.progress_log import log_progress

    if as_json or not sys.stderr.isatty():
        yield log_progress
        return
    with ProgressBars() as bars:
        yield bars.advance
