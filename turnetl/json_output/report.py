"""`turnetl report --json`."""

from typing import Annotated

from turnetl.activity_report.report import ReportFile
from turnetl.json_output.base import JsonOutput, described


class ReportOutput(JsonOutput):
    """A report that was written."""

    path: Annotated[str, described("The file.")]
    bytes: Annotated[int, described("Its size.")]
    turns: Annotated[int, described("Turns that it is about.")]
    sessions: Annotated[int, described("Their sessions.")]
    projects: Annotated[int, described("Their groups.")]
    missing: Annotated[
        list[str], described("Sentences: what is not in the report, and what to do.")
    ]


def report_output(written: ReportFile) -> ReportOutput:
    return ReportOutput(
        path=str(written.path),
        bytes=written.bytes,
        turns=written.turns,
        sessions=written.sessions,
        projects=written.projects,
        missing=list(written.missing),
    )
