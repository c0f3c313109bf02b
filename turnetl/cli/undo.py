"""The command that undoes committed turns."""

from typing import Annotated

from cyclopts import Parameter

from turnetl import console
from turnetl.base.clock import now
from turnetl.cli.confirmation import Yes, check_options, execute_previewed
from turnetl.cli.options import NO_COMMON, CommonOptions, Flag, GroupNames, Since

_CommittedSince = Annotated[
    Since,
    Parameter(
        help="Only turns committed at this time or later: 2026-03-01, 7d, 'last tuesday' (UTC "
        "without a zone)."
    ),
]


def undo(
    run: str | None = None,
    /,
    *,
    groups: GroupNames = (),
    session: str | None = None,
    turn: str | None = None,
    since: _CommittedSince = None,
    cascade: Flag = False,
    dry_run: Flag = False,
    yes: Yes = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Undo committed turns: the graph becomes as if they had never been ingested.

    Args:
        run: The beginning of the id of the run that committed them.
        session: Only turns of the session whose id begins so.
        turn: Only the turn whose id begins so.
        cascade: Undo the later turns that built on them too.
        dry_run: Write nothing; print what would change.
        yes: Do not ask.
    """
    check_options(dry_run=dry_run, yes=yes)
    from turnetl import pipeline
    from turnetl.ingestion.undo_plan import UndoSelection
    from turnetl.views import undo as view

    settings = common.settings()
    selection = UndoSelection(run, groups, session, turn, since)
    preview = console.run_async(pipeline.preview_undo(settings, selection, cascade=cascade))
    return execute_previewed(
        preview,
        lambda progress: pipeline.undo(settings, preview, now, progress=progress),
        view=view,
        dry_run=dry_run,
        yes=yes,
        common=common,
    )
