"""`turnetl review`: invalidations of many facts by one turn, which a person accepts or rejects."""

from functools import partial
from typing import Literal

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.confirmation import Confirmation, Yes
from turnetl.cli.options import NO_COMMON, CommonOptions, Flag, GroupNames


def review(
    answer: Literal["accept", "reject"] | None = None,
    turn: str | None = None,
    /,
    *facts: str,
    groups: GroupNames = (),
    dry_run: Flag = False,
    yes: Yes = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """List facts that a model would have ended, too many by one turn; end them, or keep them.

    Args:
        answer: End the facts of a turn, or keep them for good; an undo of the turn restores them.
        turn: The beginning of the id of the turn.
        facts: Only facts whose ids begin so.
        dry_run: Write nothing; print what would change.
        yes: Do not ask.
    """
    asking = Confirmation(dry_run, yes, common)
    if answer is not None and turn is None:
        raise BadUsage(f"say of which turn: `turnetl review {answer} TURN`; `turnetl review` lists")
    from turnetl import pipeline
    from turnetl.ingestion.review import Answer
    from turnetl.views import review as view

    settings, given = common.settings(), Answer(answer) if answer is not None else None
    preview = console.run_async(
        pipeline.preview_review(settings, given, turn, facts, groups=groups)
    )
    if given is None or not preview.groups:
        console.print_result(view.preview(preview), preview, as_json=common.json)
        return ExitCode.DONE
    return asking.execute(preview, partial(pipeline.review, settings, preview, now), view)
