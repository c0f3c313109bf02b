"""Printing of results, messages and progress. Control characters of archives are displayed."""

import logging
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnetl.base import stop_signals
from turnetl.base.control_characters import displayed_message, displayed_text
from turnetl.console import terminal

if TYPE_CHECKING:  # these take time to import, which `--help` must not spend
    from rich.console import Console, ConsoleOptions
    from rich.segment import Segment

    from turnetl.base.progress import Progress, ProgressUpdate
    from turnetl.views.nodes import View


def print_messages(messages: Iterable[str]) -> None:
    """Print sentences for the user on standard error."""
    for message in messages:
        print(terminal.wrapped(f"turnetl: {displayed_message(message)}"), file=sys.stderr)


def is_interactive() -> bool:
    """Return whether somebody can read a question and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str) -> bool:
    """Ask on the terminal; False without one, and for every answer but yes."""
    if not is_interactive():
        return False
    # Polars lets a signal restart what it interrupts: Ctrl-C would have no effect before Enter.
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)
    asked = terminal.wrapped(f"{displayed_message(question)} [y/N]")
    print(f"{asked} ", end="", file=sys.stderr, flush=True)
    try:
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    except KeyboardInterrupt:
        print(file=sys.stderr)
        raise KeyboardInterrupt("stopped at the question: nothing was done") from None


def run_program(command: Sequence[str], folder: Path | None) -> int:
    """Run a program on this terminal, in a folder, and return its exit code."""
    path = shutil.which(command[0]) or command[0]
    with _ctrl_c_for_the_program_only():
        return subprocess.run([path, *command[1:]], cwd=folder, check=False).returncode


def print_text(text: str) -> None:
    """Print a text on standard output as it is."""
    print(text)


def print_view(view: "View | str") -> None:
    """Print what precedes a question on standard error; control characters are displayed."""
    print(_rendered(view), file=sys.stderr)


def print_result(view: "View | str", output: object, *, as_json: bool, paged: bool = False) -> None:
    """Print the result on standard output, or the `output` of `--json`.

    A long view is shown in the user's pager on a terminal, if it is `paged`.
    """
    if as_json:
        from turnetl.base.results import encoded

        print_text(encoded(output))
        return
    text = _rendered(view)
    command = pager_command() if paged else []
    if text and not (command and show_in_pager(text, command)):
        print_text(text)


def _rendered(view: "View | str") -> str:
    """Return a view as it is printed, without the spaces that fill its columns."""
    if isinstance(view, str):
        return displayed_text(view)
    from turnetl.views.terminal import rendered

    console = terminal.rich_console()
    with console.capture() as capture:
        console.print(Displayed(rendered(view, Path.cwd())), crop=False, end="")
    return "\n".join(line.rstrip(" ") for line in capture.get().rstrip("\n").split("\n"))


@contextmanager
def show_progress(*, as_json: bool) -> Iterator["Progress"]:
    """Show progress bars on standard error if it is a terminal, and log each finished stage.

    A step of blocking work is also where a signal takes effect whose interrupt was discarded.
    """
    if as_json or not sys.stderr.isatty():
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


class Displayed:
    """A view in which control characters are displayed; the view's own styles stay."""

    def __init__(self, view: Any) -> None:
        self._view = view

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "Iterator[Segment]":
        from rich.segment import Segment

        for segment in console.render(self._view, options):
            if segment.control:
                yield segment
            else:
                yield Segment(displayed_text(segment.text), segment.style)


_DEFAULT = "less"
_LESS_OPTIONS = "FRX"
"""Quit if the text fits on the screen, keep colours, leave the text on the screen."""


def pager_command() -> list[str]:
    """Return the command of `PAGER`; empty for none, or without a terminal."""
    if not sys.stdout.isatty() or not sys.stdin.isatty():
        return []
    pager = os.environ.get("PAGER", _DEFAULT)  # noqa: TID251 - a convention, not a setting
    try:
        return shlex.split(pager)
    except ValueError:
        return []


def show_in_pager(text: str, command: list[str]) -> bool:
    """Return whether the pager could be started; it has shown the text when it ends."""
    environment = {"LESS": _LESS_OPTIONS} | dict(os.environ)  # noqa: TID251 - for the pager
    with _ctrl_c_for_the_program_only():
        try:
            pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
        except OSError:
            return False
        try:
            pager.communicate(text.encode("utf-8", "replace"))
        except BrokenPipeError:  # the user has left the pager
            pager.wait()
        except KeyboardInterrupt:  # of another signal, which a terminal does not send to the pager
            pager.terminate()
            pager.wait()
            raise
    return True


@contextmanager
def _ctrl_c_for_the_program_only() -> Iterator[None]:
    """Discard SIGINT in this process: the terminal sends it to the pager too, which handles it.

    The handler is a function because a program inherits `SIG_IGN`, and then cannot be interrupted.
    """
    handler = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


_log = logging.getLogger(__name__)


def log_progress(step: "ProgressUpdate") -> None:
    """Log a stage when it is finished, and each step on the way there at a lower level."""
    level = logging.INFO if step.done == step.total else logging.DEBUG
    _log.log(level, "%s %s: %d of %d", step.stage, step.name, step.done, step.total)
