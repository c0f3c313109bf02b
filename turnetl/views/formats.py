"""The formats that turnetl reads."""

from turnetl.formats import FormatsReport
from turnetl.views.nodes import Column, Table, View


def view(report: FormatsReport) -> View:
    columns = (Column("format", is_wrapped=False), Column("written by"))
    return [Table(columns, [(format_.name, format_.title) for format_ in report.formats])]
