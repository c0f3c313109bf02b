"""Printing of results, messages and progress."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from turnetl.base import stop_signals
from turnetl.base.control_characters import displayed_message, displayed_text
from turnetl.console import pager, terminal
from turnetl.console.displayed import Displayed

if TYPE_CHECKING:  # these take time to import, which `--help` must not spend
    from turnetl.base.progress import Progress, ProgressUpdate


def print_messages(messages: Iterable[str]) -> None:
    """Print sentences for the user on standard error."""
    for message in messages:
        print(f"turnetl: {displayed_message(message)}", file=sys.stderr)


def is_interactive() -> bool:
    """Return whether somebody can read a question and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str) -> bool:
    """Ask on the terminal; False without one, and for every answer but yes."""
    if not is_interactive():
        return False
    print(f"{displayed_message(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def print_text(text: str) -> None:
    """Print a text on standard output as it is."""
    print(text)


def print_view(view: Any) -> None:
    """Print what precedes a question on standard error; control characters are displayed."""
    print(_rendered(view), file=sys.stderr)


def print_result(view: Any, output: object, *, as_json: bool, paged: bool = False) -> None:
    """Print the result on standard output; control characters in it are displayed.

    Args:
        view: what rich can render, or a text that is printed as it is otherwise.
        output: the result that `--json` prints.
        as_json: print the object.
        paged: on a terminal, show the view in the user's pager.
    """
    if as_json:
        from turnetl.base.results import encoded

        print_text(encoded(output))
        return
    text = _rendered(view)
    command = pager.pager_command() if paged else []
    if not (command and pager.show_in_pager(text, command)):
        print_text(text)


def _rendered(view: Any) -> str:
    """Return a view as it is printed, without the spaces that fill its columns."""
    if isinstance(view, str):
        return displayed_text(view)
    console = terminal.rich_console()
    with console.capture() as capture:
        console.print(Displayed(view), crop=False, end="")
    return "\n".join(line.rstrip(" ") for line in capture.get().rstrip("\n").split("\n"))


@contextmanager
def show_progress(*, as_json: bool) -> Iterator["Progress"]:
    """Show progress bars on standard error if it is a terminal, and log each finished stage.

    A step of blocking work is also where a signal takes effect whose interrupt was discarded.
    """
    if as_json or not sys.stderr.isatty():
        from turnetl.console.progress_log import log_progress

        yield _stoppable(log_progress)
        return
    from turnetl.console.progress_bars import ProgressBars

    with ProgressBars() as bars:
        yield _stoppable(bars.advance)


def _stoppable(progress: "Progress") -> "Progress":
    signals = stop_signals.current()

    def advance(step: "ProgressUpdate") -> None:
        signals.check()
        progress(step)

    return advance
