"""The public function that writes a report on everything."""

import pathlib
from collections.abc import Sequence
from datetime import datetime

from turnetl.activity_report import report_file
from turnetl.activity_report.model import ReportFile
from turnetl.api.arguments import Path
from turnetl.base.clock import as_utc, now
from turnetl.report_pages.activity_page import ActivityPageFile
from turnetl.settings import Settings, load_settings


async def write_report(
    path: Path,
    settings: Settings | None = None,
    *,
    groups: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    redact_personal: bool = False,
) -> ReportFile:
    """Write one HTML page about turns, decisions, errors, tokens, cost and gaps.

    What cannot be read, such as a graph, is left out; `missing` of the result says what and why.

    Args:
        path: of the page; an earlier one is replaced.
        settings: everything that is configured; None: as the command line would load it.
        groups: group ids or project names; all groups if empty.
        since: only turns that started then or later; UTC without a time zone.
        until: only turns that started before.
        redact_personal: redact personal data in the page, as `redact_pii` does in the lake.

    Raises:
        BadUsage: the file cannot be written or is no page of turnetl, or an unknown group.
        TurnetlError: the lake cannot be read at all.
    """
    return await report_file.write_report(
        pathlib.Path(path),
        settings or load_settings(),
        now,
        report_file.ReportRequest(tuple(groups), as_utc(since), as_utc(until), redact_personal),
        ActivityPageFile(),
    )
