"""Consoles of rich that follow `NO_COLOR` and never wrap what is piped."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # rich takes time to import, which a command with `--json` need not spend
    from rich.console import Console

UNWRAPPED = 1_000_000
"""Columns of a pipe or a file: nothing is wrapped or truncated there."""


def rich_console(*, stderr: bool = False) -> "Console":
    """Return a console for standard output or standard error."""
    from rich.console import Console

    console = Console(stderr=stderr)
    # Rich takes NO_COLOR literally and keeps bold and dim; without a color system there are none.
    return Console(
        stderr=stderr,
        color_system=None if console.no_color else "auto",
        width=None if console.is_terminal else UNWRAPPED,
    )
