"""The public function that removes turns for good."""

from collections.abc import Sequence

from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.base.progress import Progress, ignore_progress
from turnetl.ingestion.forget_report import ForgetReport, ForgetSelection
from turnetl.settings import Settings, load_settings


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
