"""The commands that take committed turns back: `turnetl undo`, `redo` and `forget`."""

import sys
from dataclasses import replace
from functools import partial
from typing import Annotated

from cyclopts import Parameter

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.cli.confirmation import Confirmation, Yes
from turnetl.cli.options import (
    NO_COMMON,
    NO_EXTRACTION,
    CloseAfterMinutes,
    CommonOptions,
    ExtractionOptions,
    ExtractorOption,
    Flag,
    GroupNames,
    Since,
    Until,
    read_assumed_time,
)

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


def redo(
    *,
    stale: Flag = False,
    groups: GroupNames = (),
    session: str | None = None,
    turn: str | None = None,
    kind: str | None = None,
    since: Since = None,
    until: Until = None,
    exact: Flag = False,
    extractor: ExtractorOption = None,
    extraction: ExtractionOptions = NO_EXTRACTION,
    close_after: CloseAfterMinutes = None,
    assume_time: str | None = None,
    dry_run: Flag = False,
    yes: Yes = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Undo committed turns and ingest them again, with all turns that were committed after them.

    Args:
        stale: Only turns that an ingest would commit differently today.
        session: Only turns of the session whose id begins so.
        turn: Only the turn whose id begins so.
        kind: Only turns of this kind, such as code_heavy.
        exact: Repeat all turns from the first one that was committed out of order, too.
        assume_time: Time of turns without one, as it was given when they were ingested.
        dry_run: Write nothing and send no request; print what would be done.
        yes: Do not ask.
    """
    asking = Confirmation(dry_run, yes, common)
    from turnetl import pipeline
    from turnetl.ingestion.redo_report import RedoSelection
    from turnetl.views import redo as view

    settings = common.settings(
        extractor=extractor, close_after_minutes=close_after, **extraction.settings
    )
    options = replace(
        extraction.run_options(),
        assumed_time=read_assumed_time(assume_time),
        dry_run=dry_run,
        command=("turnetl", *sys.argv[1:]),
    )
    selection = RedoSelection(stale, groups, session, turn, kind, since, until)
    preview = console.run_async(
        pipeline.preview_redo(settings, selection, options, now, exact=exact)
    )
    return asking.execute(preview, partial(pipeline.redo, settings, preview, options, now), view)


_STANDARD_INPUT = "-"


def forget(
    *,
    session: str | None = None,
    groups: GroupNames = (),
    match: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    cascade: Flag = False,
    dry_run: Flag = False,
    yes: Yes = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Remove turns for good: from lake, journal, quarantine, index and graph.

    They stay removed when their archive is read again. Without a selection, the command completes a
    removal that was interrupted.

    Args:
        session: The session whose id begins so, with its later turns.
        match: Turns that hold this text; - reads it from standard input.
        cascade: Undo the later turns that built on them; the next ingest takes those again.
        dry_run: Write nothing; print what would be removed.
        yes: Do not ask.
    """
    asking = Confirmation(dry_run, yes, common)
    if match == _STANDARD_INPUT:
        if not (yes or dry_run):
            raise BadUsage("`--match -` reads standard input: add --yes or --dry-run")
        match = sys.stdin.read().rstrip("\n")
    from turnetl import pipeline
    from turnetl.ingestion.forget import ForgetSelection
    from turnetl.views import forget as view

    settings = common.settings()
    selection = ForgetSelection(session, groups, match)
    preview = console.run_async(pipeline.preview_forget(settings, selection, cascade=cascade))
    return asking.execute(preview, partial(pipeline.forget, settings, preview, now), view)
