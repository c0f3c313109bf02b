"""The public functions that undo committed turns, and that remove turns for good."""

from collections.abc import Sequence
from datetime import datetime

from turnetl import pipeline
from turnetl.base.clock import as_utc, now
from turnetl.base.progress import Progress, ignore_progress
from turnetl.ingestion.forget_report import ForgetReport, ForgetSelection
from turnetl.ingestion.undo_plan import UndoSelection
from turnetl.ingestion.undo_report import UndoReport
from turnetl.settings import Settings, load_settings


async def undo(
    run: str | None = None,
    settings: Settings | None = None,
    *,
    groups: Sequence[str] = (),
    session: str | None = None,
    turn: str | None = None,
    since: datetime | None = None,
    cascade: bool = False,
    dry_run: bool = False,
    progress: Progress = ignore_progress,
) -> UndoReport:
    """Undo committed turns, newest first, one transaction per turn; they are pending again.

    Args:
        run: the beginning of the id of the run that committed them.
        settings: everything that is configured; None: as the command line would load it.
        groups: group ids or project names; all groups if empty.
        session: only turns of the session with this id, or the beginning of one.
        turn: only the turn with this id, or the beginning of one.
        since: only turns committed then or later; UTC without a time zone.
        cascade: undo the later turns that built on them too; without it nothing is undone if there
            are any, and the report lists them.
        dry_run: write nothing; report what would change.
        progress: called after each turn.

    Returns:
        The report, also on groups that could not be finished: `error` says why.

    Raises:
        BadUsage: no condition is given, or none or several ids begin so.
        GraphUnusable: the graph cannot be opened.
    """
    loaded = settings or load_settings()
    selection = UndoSelection(run, tuple(groups), session, turn, as_utc(since))
    preview = await pipeline.preview_undo(loaded, selection, cascade=cascade)
    return preview if dry_run else await pipeline.undo(loaded, preview, now, progress=progress)


async def forget(
    settings: Settings | None = None,
    *,
    session: str | None = None,
    groups: Sequence[str] = (),
    match: str | None = None,
    cascade: bool = False,
    dry_run: bool = False,
    progress: Progress = ignore_progress,
) -> ForgetReport:
    """Remove turns for good from lake, journal, quarantine, index and graph, and prove it.

    They stay removed when their archive is read again. A call that was interrupted is completed by
    the same call, or by one without a selection.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        session: only turns of the session with this id, or the beginning of one.
        groups: group ids or project names; all groups if empty.
        match: only turns that hold this text.
        cascade: undo the later turns that built on them too, which are pending again; without it
            nothing is removed if there are any, and the report lists them.
        dry_run: write nothing; report what would be removed.
        progress: called after each turn and group.

    Returns:
        The report. `is_proven`: everything was removed, and the search found nothing.

    Raises:
        BadUsage: no condition is given, or none or several ids begin so.
        GraphUnusable: the graph cannot be opened.
    """
    loaded = settings or load_settings()
    selection = ForgetSelection(session, tuple(groups), match)
    preview = await pipeline.preview_forget(loaded, selection, cascade=cascade)
    return preview if dry_run else await pipeline.forget(loaded, preview, now, progress=progress)
