"""The formats that turnetl reads, and what agents do not record."""

from turnetl.formats import Format, FormatsReport
from turnetl.formats.registry import RECORDED
from turnetl.views.nodes import Caption, Column, Table, View


def view(report: FormatsReport) -> View:
    columns = (
        Column("format", is_wrapped=False),
        Column("written by"),
        Column("versions\nseen"),
        Column("not recorded"),
    )
    rows = [(one.name, one.title, one.versions, not_recorded(one)) for one in report.formats]
    rest = f"read is all else of: prompts, {', '.join(RECORDED)}"
    return [Table(columns, rows), Caption(rest)]


def not_recorded(format_: Format) -> str:
    """Return what the agent does not record, in words; empty if it records everything."""
    missing = ", ".join(format_.not_recorded)
    return "; ".join(part for part in (missing, format_.note) if part)
