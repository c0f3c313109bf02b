"""A report that was written, on one line."""

from rich.text import Text

from turnetl.activity_report.report import ReportFile
from turnetl.report.layout import plural, size, token_split


def line(written: ReportFile) -> Text:
    """Return the file, its size and what it is about."""
    counts = (
        f"{plural(written.turns, 'turn')} of {plural(written.sessions, 'session')} in "
        f"{plural(written.projects, 'project')}"
    )
    tokens = token_split(written.tokens)
    return Text(f"{written.path}: {size(written.bytes)}, {counts}; {tokens}", overflow="fold")
