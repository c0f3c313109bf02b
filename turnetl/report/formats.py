"""The formats that turnetl reads."""

from collections.abc import Sequence

from rich.table import Table

from turnetl.formats import Format


def table(formats: Sequence[Format]) -> Table:
    """Render a row per format."""
    view = Table()
    view.add_column("format", no_wrap=True)
    view.add_column("written by")
    for format_ in formats:
        view.add_row(format_.name, format_.title)
    return view
