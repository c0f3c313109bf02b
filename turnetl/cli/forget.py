"""The command that removes turns for good."""

import sys
from functools import partial
from typing import Annotated

from cyclopts import Parameter

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.cli.confirmation import Confirmation, Yes
from turnetl.cli.options import NO_COMMON, CommonOptions, Flag, GroupNames

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
    from turnetl.ingestion.forget_report import ForgetSelection
    from turnetl.views import forget as view

    settings = common.settings()
    selection = ForgetSelection(session, groups, match)
    preview = console.run_async(pipeline.preview_forget(settings, selection, cascade=cascade))
    return asking.execute(preview, partial(pipeline.forget, settings, preview, now), view)
