"""Consoles of rich that follow `NO_COLOR` and never wrap what is piped."""

import os
import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # rich takes time to import, which a command with `--json` need not spend
    from rich.console import Console

UNWRAPPED = 1_000_000
"""Columns of a pipe or a file: nothing is wrapped or truncated there."""


_NARROWEST = 20


def is_unstyled() -> bool:
    """Return whether the user wants no styling, by the convention of https://no-color.org."""
    return bool(os.environ.get("NO_COLOR"))  # noqa: TID251 - a convention, not a setting


def wrapped(message: str) -> str:
    """Return a message for standard error; on a terminal it is broken between words only."""
    if not sys.stderr.isatty():
        return message
    from textwrap import wrap

    width = max(shutil.get_terminal_size().columns, _NARROWEST)
    lines = wrap(
        message,
        width,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    return "\n".join(lines)


def rich_console(*, stderr: bool = False) -> "Console":
    """Return a console for standard output or standard error."""
    from rich.console import Console

    return Console(
        stderr=stderr,
        # Rich takes NO_COLOR literally and keeps bold and dim; without a color system there are
        # none.
        color_system=None if is_unstyled() else "auto",
        width=None if Console(stderr=stderr).is_terminal else UNWRAPPED,
    )
