"""What `turnetl prefect` made or found, in the terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import plural
from turnetl.prefect_report import DoctorReport, SetupReport
from turnetl.report.layout import caption

_NEXT = "next: `prefect --no-prompt deploy --all`, then `prefect worker start --pool {}`"


def setup_table(report: SetupReport) -> RenderableType:
    """Render a row per object, and the next commands."""
    view = Table()
    for name in ("object", "name", "value", "change"):
        view.add_column(name, overflow="fold")
    for item in report.items:
        kind = item.kind.replace("_", " ")
        view.add_row(kind, Text(item.name), Text(item.value), item.change)
    return Group(view, caption(_NEXT.format(report.pool)))


def doctor_table(report: DoctorReport) -> RenderableType:
    """Render a row per finding."""
    checked = f"{plural(report.runs, 'running run')}, {plural(report.deployments, 'deployment')}"
    if not report.findings:
        return caption(f"nothing is wrong; checked {checked}")
    view = Table()
    for name in ("finding", "subject", "what", "remedy"):
        view.add_column(name, overflow="fold")
    for one in report.findings:
        remedy = "fixed" if one.fixed else one.remedy
        kind = one.kind.replace("_", " ")
        view.add_row(kind, Text(one.subject), Text(one.message), Text(remedy))
    return Group(view, caption(f"checked {checked} with turnetl {report.version}"))


def doctor_messages(report: DoctorReport) -> list[str]:
    """Return how many findings are left, and how they are fixed."""
    if not report.left:
        return []
    fixable = sum(one.can_fix and not one.fixed for one in report.findings)
    how = f"; --fix fixes {fixable:,} of them" if fixable else ""
    return [f"{plural(report.left, 'finding')} left{how}"]


def doctor_exit_code(report: DoctorReport) -> ExitCode:
    return ExitCode.FOUND if report.left else ExitCode.DONE
