"""What `turnetl prefect` made or found."""

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import plural
from turnetl.prefect_report import DoctorReport, SetupReport
from turnetl.views.nodes import Caption, Column, Table, View

_NEXT = "next: `prefect --no-prompt deploy --all`, then `prefect worker start --pool {}`"


def setup_view(report: SetupReport) -> View:
    columns = [*map(Column, ("object", "name", "value", "change"))]
    rows = [
        (item.kind.replace("_", " "), item.name, item.value, item.change) for item in report.items
    ]
    return [Table(columns, rows), Caption(_NEXT.format(report.pool))]


def doctor_view(report: DoctorReport) -> View:
    checked = f"{plural(report.runs, 'running run')}, {plural(report.deployments, 'deployment')}"
    if not report.findings:
        return [Caption(f"nothing is wrong; checked {checked}")]
    columns = [*map(Column, ("finding", "subject", "what", "remedy"))]
    rows = []
    for one in report.findings:
        remedy = "fixed" if one.fixed else one.remedy
        rows.append((one.kind.replace("_", " "), one.subject, one.message, remedy))
    return [Table(columns, rows), Caption(f"checked {checked} with turnetl {report.version}")]


def doctor_messages(report: DoctorReport) -> list[str]:
    if not report.left:
        return []
    fixable = sum(one.can_fix and not one.fixed for one in report.findings)
    how = f"; --fix fixes {fixable:,} of them" if fixable else ""
    return [f"{plural(report.left, 'finding')} left{how}"]


def doctor_exit_code(report: DoctorReport) -> ExitCode:
    return ExitCode.FOUND if report.left else ExitCode.DONE
