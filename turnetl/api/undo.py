"""The public functions that take committed turns out of the graph, for good or to repeat them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from turnetl import pipeline
from turnetl.base.clock import as_utc, now
from turnetl.base.progress import Progress, ignore_progress
from turnetl.ingestion.forget import ForgetReport, ForgetSelection
from turnetl.ingestion.redo_report import RedoReport, RedoSelection
from turnetl.ingestion.undo_plan import UndoSelection
from turnetl.ingestion.undo_report import UndoReport
from turnetl.pipeline.run_options import RunOptions
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


async def redo(
    settings: Settings | None = None,
    options: RunOptions | None = None,
    *,
    stale: bool = False,
    groups: Sequence[str] = (),
    session: str | None = None,
    turn: str | None = None,
    kind: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    exact: bool = False,
    dry_run: bool = False,
    progress: Progress = ignore_progress,
) -> RedoReport:
    """Undo committed turns, with all that were committed after them, and ingest them again.

    With a model, all requests are sent before the first turn is undone, through the journal and
    within the budget. A call that is killed leaves turns pending, which the next ingest takes.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        options: how the turns are extracted in this run; its groups, times and limit are not used.
        stale: only turns that an ingest would commit differently today.
        groups: group ids or project names; all groups if empty.
        session: only turns of the session with this id, or the beginning of one.
        turn: only the turn with this id, or the beginning of one.
        kind: only turns of this kind.
        since: only turns that started then or later; UTC without a time zone.
        until: only turns that started before.
        exact: repeat, too, the turns from the first one that was committed out of order, so that
            the graph equals that of a fresh ingest.
        dry_run: write nothing; report what would be done.
        progress: called after each turn of each step.

    Returns:
        The report, also on groups that could not be finished: `error` says why.

    Raises:
        BadUsage: no condition is given, an unknown group, kind or id, or no journal.
        GraphUnusable: the graph cannot be opened.
    """
    loaded, of_run = settings or load_settings(), options or RunOptions()
    of_run = replace(of_run, dry_run=dry_run)
    selection = RedoSelection(
        stale, tuple(groups), session, turn, kind, as_utc(since), as_utc(until)
    )
    preview = await pipeline.preview_redo(loaded, selection, of_run, now, exact=exact)
    if dry_run:
        return preview
    return await pipeline.redo(loaded, preview, of_run, now, progress=progress)


async def merge_entities(
    kept: str,
    merged: str,
    settings: Settings | None = None,
    options: RunOptions | None = None,
    *,
    groups: Sequence[str] = (),
    dry_run: bool = False,
    progress: Progress = ignore_progress,
) -> RedoReport:
    """Make two entities of a group one, in all turns and all that follow; `split_entity` ends it.

    The turns of the merged one, and all that were committed after them, are ingested again.

    Args:
        kept: name of the entity that stays, or the beginning of its id.
        merged: name or id of the other one, which becomes an alias.
        settings: everything that is configured; None: as the command line would load it.
        options: how the turns are extracted in this run.
        groups: only entities of these groups, by id or project name.
        dry_run: write nothing; report what would be done.
        progress: called after each turn of each step.

    Returns:
        The report of the redo; without groups if both are one entity already.

    Raises:
        BadUsage: an unknown or ambiguous name, or entities of two groups.
        GraphUnusable: the graph cannot be opened.
    """
    loaded, of_run = settings or load_settings(), replace(options or RunOptions(), dry_run=dry_run)
    plan = await pipeline.preview_merge(loaded, kept, merged, of_run, now, groups=groups)
    if dry_run:
        return plan.redo
    return await pipeline.merge(loaded, plan, of_run, now, progress=progress)


async def split_entity(
    entity: str,
    alias: str,
    settings: Settings | None = None,
    options: RunOptions | None = None,
    *,
    groups: Sequence[str] = (),
    dry_run: bool = False,
    progress: Progress = ignore_progress,
) -> RedoReport:
    """Make what was merged into an entity one of its own again.

    Args:
        entity: name of the entity, or the beginning of its id.
        alias: name of what was merged into it.
        settings: everything that is configured; None: as the command line would load it.
        options: how the turns are extracted in this run.
        groups: only entities of these groups, by id or project name.
        dry_run: write nothing; report what would be done.
        progress: called after each turn of each step.

    Raises:
        BadUsage: an unknown or ambiguous name, or nothing of that name was merged into the entity.
        GraphUnusable: the graph cannot be opened.
    """
    loaded, of_run = settings or load_settings(), replace(options or RunOptions(), dry_run=dry_run)
    plan = await pipeline.preview_split(loaded, entity, alias, of_run, now, groups=groups)
    if dry_run:
        return plan.redo
    return await pipeline.merge(loaded, plan, of_run, now, progress=progress)
