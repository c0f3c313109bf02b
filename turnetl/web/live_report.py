"""The report on everything, made when it is asked for, with links to the other pages."""

import asyncio
import threading
from collections.abc import Callable, Collection, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

from turnetl.activity_report.model import ActivityReport, ReportedTurn
from turnetl.activity_report.report_file import ReportRequest, activity_report
from turnetl.base.clock import Clock
from turnetl.base.progress import Progress, ProgressUpdate
from turnetl.html.pages import environment, render
from turnetl.html.references import SourceLines, TurnReference
from turnetl.report_pages.activity_page import TITLE, page_filters, page_values
from turnetl.settings import Settings
from turnetl.web import forms
from turnetl.web.access import DIRECTIVES, LOADER
from turnetl.web.forms import PageForm

_AT_ONCE = 4
"""Reports that are made beside each other: each holds all its turns in memory."""


class LiveReports:
    """Makes reports beside each other and beside other requests."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def make(self, form: PageForm) -> ActivityReport:
        """Return the report on the turns that a form selects by project and time.

        It is made in a thread of its own, so that other requests do not wait for it; the end of the
        server ends it.
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
    """Return the page of a report; turns that are not indexed are listed at its end."""

    def reference(turn: ReportedTurn) -> TurnReference:
        has_page = turn.turn_id in indexed
        lines = forms.item_link(forms.LINES, turn.turn_id) if has_page else None
        source = SourceLines(turn.archive, turn.first_line, turn.last_line, lines)
        href = forms.item_link(forms.TURN, turn.turn_id) if has_page else f"#turn-{turn.turn_id}"
        return TurnReference(turn.turn_id, turn.title, turn.started_at, href, source)

    # New for each report: its filters know which turns have a page.
    made = environment([LOADER])
    made.filters |= page_filters(reference)
    all_values = page_values(report) | values
    return render(made, "live_report.html", title=TITLE, directives=DIRECTIVES, **all_values)


T = TypeVar("T")

STOP_SECONDS = 2.0
"""Seconds for which a cancelled caller waits for the work to end."""


async def run_in_thread(work: Callable[[Progress], Coroutine[Any, Any, T]]) -> T:
    """Return what work returns, or raise what it raises; other tasks of the caller do not wait.

    If the caller is cancelled, the work is cancelled where it awaits, or when it reports its next
    step. It is waited for a few seconds: what it opened is then closed.
    """
    running = _ThreadWork(work)
    # A daemon: a library that does not respond must not keep the process from ending.
    threading.Thread(target=running.run, name="report", daemon=True).start()
    ended = asyncio.wrap_future(running.result)
    try:
        return await asyncio.shield(ended)
    except asyncio.CancelledError:
        running.stop()
        # Nobody awaits it now: an error that was never retrieved would be written to the log.
        ended.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait([ended], timeout=STOP_SECONDS)
        raise


class _ThreadWork(Generic[T]):
    def __init__(self, work: Callable[[Progress], Coroutine[Any, Any, T]]) -> None:
        self.result = Future[T]()
        self._work = work
        self._is_stopped = False
        self._task: tuple[asyncio.AbstractEventLoop, asyncio.Task[T]] | None = None

    def run(self) -> None:
        try:
            self.result.set_result(asyncio.run(self._run()))
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            self.result.set_exception(error)

    def stop(self) -> None:
        """Cancel the work; called by another thread."""
        self._is_stopped = True
        if self._task is not None:
            loop, task = self._task
            with suppress(RuntimeError):  # the loop is closed: there is nothing to cancel
                loop.call_soon_threadsafe(task.cancel)

    async def _run(self) -> T:
        task = asyncio.ensure_future(self._work(self._advance))
        self._task = asyncio.get_running_loop(), task
        if self._is_stopped:
            task.cancel()
        return await task

    def _advance(self, _: ProgressUpdate) -> None:
        # Steps without an await do not return to the loop that cancels.
        if self._is_stopped:
            raise asyncio.CancelledError
