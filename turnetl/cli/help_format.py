"""The help as plain lines, for pipes and files."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from turnetl.console.terminal import UNWRAPPED

if TYPE_CHECKING:  # importing it takes a moment, which a command without `--help` must not spend
    from cyclopts.help import PlainFormatter


class PipedHelpFormatter:
    """Prints the help without boxes, and wraps nothing."""

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        self._plain(console, options, panel)

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        # The usage is printed first: from here on, the console wraps nothing.
        console.width = UNWRAPPED
        self._plain.render_usage(console, options, usage)

    def render_description(self, console: Any, options: Any, description: Any) -> None:
        self._plain.render_description(console, options, description)

    @cached_property
    def _plain(self) -> "PlainFormatter":
        from cyclopts.help import PlainFormatter

        return PlainFormatter(max_width=UNWRAPPED)
