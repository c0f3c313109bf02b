"""Text from archives on a terminal: control characters are displayed, never obeyed.

An escape sequence in a tool result could move the cursor, change the title of the window or write
to the clipboard; bidirectional controls could show a command in another order than it has.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # rich takes time to import, which `--help` must not spend
    from rich.console import Console, ConsoleOptions
    from rich.segment import Segment

_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters but for tab and newline, controls of bidirectional text, and surrogates."""


def displayed_text(text: str) -> str:
    r"""Return the text with each control character as its escape, such as `\x1b`."""
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


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
