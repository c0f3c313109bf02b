"""The command that ingests committed turns again."""

import sys
from dataclasses import replace
from functools import partial

from turnetl import console
from turnetl.base.clock import now
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
