"""The help as plain lines, for pipes and files."""

from typing import Any

from cyclopts.help import PlainFormatter

from turnetl.console.terminal import UNWRAPPED


class PipedHelpFormatter(PlainFormatter):
    """Prints the help without boxes, and wraps nothing."""

    def __init__(self) -> None:
        super().__init__(max_width=UNWRAPPED)

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        # The usage is printed first: from here on, the console wraps nothing.
        console.width = UNWRAPPED
        super().render_usage(console, options, usage)
