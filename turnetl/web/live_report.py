"""The report on everything, made when it is asked for, with links to the other pages."""

import asyncio
from collections.abc import Collection
from typing import Any

from turnetl.activity_report.model import ReportedTurn
from turnetl.activity_report.report import ActivityReport
from turnetl.base.clock import Clock
from turnetl.html.pages import environment, render
from turnetl.html.references import SourceLines, TurnReference
from turnetl.pipeline.activity_report import activity_report
from turnetl.pipeline.report_sources import ReportRequest
from turnetl.report.activity_page import TITLE, page_filters, page_values
from turnetl.settings import Settings
from turnetl.web import links
from turnetl.web.environment import LOADER
from turnetl.web.forms import PageForm
from turnetl.web.policy import DIRECTIVES
from turnetl.web.report_thread import run_in_thread

_AT_ONCE = 4
"""Reports that are made beside each other: each holds all its turns in memory."""


class LiveReports:
    """Makes reports beside each other and beside other requests."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        """Report on the lake, the graph and the journal that the settings name."""
        self._settings = settings
        self._clock = clock
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def make(self, form: PageForm) -> ActivityReport:
        """Return the report on the turns that a form selects by project and time.

        It is made in a thread of its own, so that other requests do not wait for it; the end of the
        server ends it.

        Raises:
            BadUsage: an unknown group, or a time that cannot be read.
            Fatal, LakeBusy: the lake cannot be read at all.
        """
        selection = form.selection(self._clock())
        request = ReportRequest(form.groups, selection.since, selection.until)
        async with self._slots:
            return await run_in_thread(
                lambda progress: activity_report(
                    self._settings, self._clock, request, progress=progress
                )
            )


def live_report_page(report: ActivityReport, indexed: Collection[str], **values: Any) -> str:
    """Return the page of a report.

    Args:
        report: on the turns of the form.
        indexed: ids of the turns that have a page of their own; the others are listed at the end.
        values: further variables of the template.
    """

    def reference(turn: ReportedTurn) -> TurnReference:
        has_page = turn.turn_id in indexed
        lines = links.lines_link(turn.turn_id) if has_page else None
        source = SourceLines(turn.archive, turn.first_line, turn.last_line, lines)
        href = links.turn_link(turn.turn_id) if has_page else f"#turn-{turn.turn_id}"
        return TurnReference(turn.turn_id, turn.title, turn.started_at, href, source)

    # Made anew: its filters know which turns have a page.
    made = environment([LOADER])
    made.filters |= page_filters(reference)
    all_values = page_values(report) | values
    return render(made, "live_report.html", title=TITLE, directives=DIRECTIVES, **all_values)
