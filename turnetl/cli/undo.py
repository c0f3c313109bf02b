"""The command that undoes committed turns."""

from datetime import datetime
from typing import Annotated

from cyclopts import Parameter

from turnetl import console
from turnetl.cli.options import NO_COMMON, CommonOptions, Flag, GroupNames
from turnetl.cli.times import beginning
from turnetl.clock import now
from turnetl.errors import BadUsage
from turnetl.exit_code import ExitCode

_CommittedSince = Annotated[
    datetime | None,
    Parameter(
        converter=beginning,
        help="Only turns committed at this time or later: 2026-03-01, 7d, 'last tuesday' (UTC "
        "without a zone).",
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
    yes: Annotated[Flag, Parameter(name=("--yes", "-y"))] = False,
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
    if dry_run and yes:
        raise BadUsage("`--dry-run` writes nothing, so that --yes has nothing to confirm")
    from turnetl import pipeline
    from turnetl.ingestion.undo_plan import UndoSelection
    from turnetl.json_output.undo import undo_output
    from turnetl.report import undo as view

    settings = common.settings()
    selection = UndoSelection(run, groups, session, turn, since)
    preview = console.run_async(pipeline.preview_undo(settings, selection, cascade=cascade))
    if not yes or preview.is_refused:
        console.print_result(view.preview(preview), undo_output(preview), as_json=common.json)
    if dry_run or preview.is_refused:
        console.print_messages(view.messages(preview))
        return view.exit_code(preview)
    # Nobody reads a question between two lines of JSON.
    if not yes and (common.json or not console.confirm(view.question(preview))):
        console.print_messages([view.NOT_CONFIRMED])
        return ExitCode.FAILED
    with console.show_progress(as_json=common.json) as progress:
        report = console.run_async(pipeline.undo(settings, preview, now, progress=progress))
    console.print_messages(view.messages(report))
    console.print_result(view.result(report), undo_output(report), as_json=common.json)
    return view.exit_code(report)
