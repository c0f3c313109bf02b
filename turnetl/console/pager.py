"""Long results on a terminal are shown in the user's pager."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

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
    with _ctrl_c_for_the_pager_only():
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
def _ctrl_c_for_the_pager_only() -> Iterator[None]:
    """Discard SIGINT in this process: the terminal sends it to the pager too, which handles it.

    The handler is a function because a program inherits `SIG_IGN`, and then cannot be interrupted.
    """
    handler = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
