"""The formats that turnetl reads."""

from rich.table import Table

from turnetl.formats import FormatsReport


def table(report: FormatsReport) -> Table:
    """Render a row per format."""
    view = Table()
    view.add_column("format", no_wrap=True)
    view.add_column("written by")
    for format_ in report.formats:
        view.add_row(format_.name, format_.title)
    return view
