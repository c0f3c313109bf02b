"""What a terminal shows of a view."""

from pathlib import Path

from rich.console import Console

from turnetl.views.nodes import View
from turnetl.views.terminal import rendered


def printed(view: View, width: int = 80, **options: bool) -> str:
    """Return a view as a terminal of this width shows it.

    Args:
        view: the nodes.
        width: in cells.
        options: of `Console.print`.
    """
    console = Console(width=width)
    with console.capture() as captured:
        console.print(rendered(view, Path("/")), **options)  # type: ignore[arg-type]  # by name
    return captured.get()
