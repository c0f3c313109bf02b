"""Consoles of rich that follow `NO_COLOR` and never wrap what is piped."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # rich takes time to import, which a command with `--json` need not spend
    from rich.console import Console

UNWRAPPED = 1_000_000
"""Columns of a pipe or a file: nothing is wrapped or truncated there."""


def is_unstyled() -> bool:
    """Return whether the user wants no styling, by the convention of https://no-color.org."""
    return bool(os.environ.get("NO_COLOR"))  # noqa: TID251 - a convention, not a setting


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
