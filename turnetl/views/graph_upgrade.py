"""The upgrade of a graph file: its storage versions, its rows, and where the old file is."""

from turnetl.base.text import plural
from turnetl.graph.upgrade_report import GraphUpgrade
from turnetl.views.nodes import Column, Table, View, numbers


def view(report: GraphUpgrade) -> View:
    if report.previous_version is None:
        return [
            f"graph `{report.graph}` has storage version {report.storage_version}: nothing to do"
        ]
    rows = [(table, f"{count:,}") for table, count in report.tables.items() if count]
    total = sum(report.tables.values())
    text = (
        f"graph `{report.graph}`: {plural(total, 'row')} carried over from storage version "
        f"{report.previous_version} to {report.storage_version}\nthe old file stays as "
        f"`{report.kept}`, its logs beside it; delete them when you need no way back"
    )
    return [Table((Column("table"), *numbers("rows")), rows), text]


def messages(report: GraphUpgrade) -> list[str]:
    if not report.is_log_cut:
        return []
    text = (
        "the log of the old file ended in an incomplete transaction, as after a kill: it is left "
        "out; turns committed before it are in the graph, ingest again to commit the rest"
    )
    return [text]
