"""The formats that turnetl reads."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from turnetl.formats.base import Format


def table(known: Sequence[Format]) -> Table:
    """One row a format."""
    shown = Table()
    shown.add_column("format", no_wrap=True)
    shown.add_column("what it is")
    for one in known:
        shown.add_row(one.name, one.title)
    return shown


def as_json(known: Sequence[Format]) -> dict[str, Any]:
    return {"formats": [{"name": one.name, "title": one.title} for one in known]}
