"""`turnetl entity`: what is known about one, and which entities are one."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from cyclopts import App

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.exit_code import ExitCode
from turnetl.cli import history
from turnetl.cli.confirmation import Confirmation, Yes
from turnetl.cli.options import NO_COMMON, CommonOptions, Flag, GroupNames

if TYPE_CHECKING:  # importing it takes a moment, which `--help` must not spend
    from turnetl.pipeline.run_merge import MergePlan

app = App(name="entity")
app.default(history.entity)


@app.command
def merge(
    kept: str,
    merged: str,
    /,
    *,
    groups: GroupNames = (),
    dry_run: Flag = False,
    yes: Yes = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Make two entities of a group one, now and in all later turns; `split` takes it back.

    Their turns, and all that were committed after them, are ingested again.

    Args:
        kept: Name of the entity that stays, or the beginning of its id.
        merged: Name or id of the other one, which becomes an alias.
        dry_run: Write nothing; print which turns are repeated.
        yes: Do not ask.
    """
    from turnetl import pipeline

    return _execute(
        pipeline.preview_merge, (kept, merged), groups, Confirmation(dry_run, yes, common)
    )


@app.command
def split(
    entity: str,
    alias: str,
    /,
    *,
    groups: GroupNames = (),
    dry_run: Flag = False,
    yes: Yes = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Make what was merged into an entity one of its own again.

    Args:
        entity: Name of the entity, or the beginning of its id.
        alias: Name of what was merged into it.
        dry_run: Write nothing; print which turns are repeated.
        yes: Do not ask.
    """
    from turnetl import pipeline

    return _execute(
        pipeline.preview_split, (entity, alias), groups, Confirmation(dry_run, yes, common)
    )


@app.command
def duplicates(
    *, groups: GroupNames = (), yes: Yes = False, common: CommonOptions = NO_COMMON
) -> int:
    """List entities of a group that may be one, the most certain first, with what speaks for it.

    Args:
        yes: Merge those that are certain, as `turnetl entity merge` does; `split` takes it back.
    """
    from turnetl import pipeline
    from turnetl.views import redo as view

    settings, options = common.settings(), pipeline.RunOptions()
    report = common.executed(partial(pipeline.duplicate_entities, settings, groups=groups))
    code: int = ExitCode.DONE
    if yes and report.certain:
        report = common.executed(partial(pipeline.merge_duplicates, settings, report, options, now))
    if report.redo is not None:
        console.print_messages(view.messages(report.redo))
        code = view.exit_code(report.redo)
    console.print_result(view.duplicates(report), report, as_json=common.json)
    return code


def _execute(
    plan: Callable[..., Coroutine[Any, Any, "MergePlan"]],
    names: tuple[str, str],
    groups: GroupNames,
    asking: Confirmation,
) -> int:
    from turnetl import pipeline
    from turnetl.views import redo as view

    settings, options = asking.common.settings(), pipeline.RunOptions(dry_run=asking.dry_run)
    planned = console.run_async(plan(settings, *names, options, now, groups=groups))
    work = partial(pipeline.merge, settings, planned, options, now)
    return asking.execute(planned.redo, work, view)
