"""Views in which the control characters of archives are displayed."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from turnetl.base.control_characters import displayed_text

if TYPE_CHECKING:  # rich takes time to import, which `--help` must not spend
    from rich.console import Console, ConsoleOptions
    from rich.segment import Segment


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
