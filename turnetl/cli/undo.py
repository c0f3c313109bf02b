"""The command that undoes committed turns."""

from functools import partial
from typing import Annotated

from cyclopts import Parameter

from turnetl import console
from turnetl.base.clock import now
from turnetl.cli.confirmation import Confirmation, Yes
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
    asking = Confirmation(dry_run, yes, common)
    from turnetl import pipeline
    from turnetl.ingestion.undo_plan import UndoSelection
    from turnetl.views import undo as view

    settings = common.settings()
    selection = UndoSelection(run, groups, session, turn, since)
    preview = console.run_async(pipeline.preview_undo(settings, selection, cascade=cascade))
    return asking.execute(preview, partial(pipeline.undo, settings, preview, now), view)
