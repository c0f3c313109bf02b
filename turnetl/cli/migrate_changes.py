"""The commands of `turnetl migrate` that change whom a group belongs to."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.cli.confirmation import Yes, check_options, execute_previewed
from turnetl.cli.options import NO_COMMON, CommonOptions, Flag

if TYPE_CHECKING:  # importing these takes a second, which `--help` must not spend
    from turnetl.pipeline import ChangeOptions

_MOST_DAYS = 36_500
MigratedGroup = Annotated[
    str | None,
    Parameter(help="Group that is being migrated; not needed if there is only one."),
]


def cutover(
    *,
    group: MigratedGroup = None,
    accept: Flag = False,
    dry_run: Flag = False,
    yes: Yes = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Give the name of the group to the turns; the old data moves to a group of its own.

    Args:
        accept: Cut over without a comparison that passed.
        dry_run: Write nothing; print what would be moved.
        yes: Do not ask.
    """
    from turnetl import pipeline
    from turnetl.migration.change_report import MigrationCommand

    options = pipeline.ChangeOptions(MigrationCommand.CUTOVER, group, accept=accept)
    return _change(options, dry_run=dry_run, yes=yes, common=common)


def rollback(
    *,
    group: MigratedGroup = None,
    discard: Flag = False,
    dry_run: Flag = False,
    yes: Yes = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Take a cutover back, also in the middle: the group is as it was before.

    Args:
        discard: Then delete the turns of the migration, which ends it.
        dry_run: Write nothing; print what would be moved.
        yes: Do not ask.
    """
    from turnetl import pipeline
    from turnetl.migration.change_report import MigrationCommand

    options = pipeline.ChangeOptions(MigrationCommand.ROLLBACK, group, discard=discard)
    return _change(options, dry_run=dry_run, yes=yes, common=common)


def finish(
    *,
    group: MigratedGroup = None,
    keep_days: Annotated[
        float, Parameter(validator=Number(gte=0, lte=_MOST_DAYS), show_default=False)
    ] = 0,
    dry_run: Flag = False,
    yes: Yes = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Delete the old data of a group that was cut over. There is no way back afterwards.

    Args:
        keep_days: Delete nothing until this many days after the cutover [default: 0].
        dry_run: Write nothing; print what would be deleted.
        yes: Do not ask.
    """
    from turnetl import pipeline
    from turnetl.migration.change_report import MigrationCommand

    options = pipeline.ChangeOptions(MigrationCommand.FINISH, group, keep_days=keep_days)
    return _change(options, dry_run=dry_run, yes=yes, common=common)


def _change(options: "ChangeOptions", *, dry_run: bool, yes: bool, common: CommonOptions) -> int:
    """Show a change of a group, and carry it out if it is confirmed."""
    check_options(dry_run=dry_run, yes=yes)
    from turnetl import pipeline
    from turnetl.report import migration_change as view

    settings = common.settings()
    preview = console.run_async(pipeline.preview_change(settings, options, now))
    return execute_previewed(
        preview,
        lambda progress: pipeline.execute_change(settings, options, now, progress=progress),
        view=view,
        dry_run=dry_run,
        yes=yes,
        common=common,
    )
