"""Long results on a terminal are shown in the user's pager."""

import os
import shlex
import subprocess
import sys

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
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    except OSError:
        return False
    try:
        pager.communicate(text.encode("utf-8", "replace"))
    except (BrokenPipeError, KeyboardInterrupt):
        # The user has left the pager, or pressed Ctrl-C in it, which only it handles.
        pager.wait()
    return True
