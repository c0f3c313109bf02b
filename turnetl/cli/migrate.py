"""`turnetl migrate`: session-level data of other programs, replaced by the turns of archives."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.cli.confirmation import Confirmation, Yes
from turnetl.cli.options import (
    NO_COMMON,
    NO_EXTRACTION,
    ArchivePaths,
    CloseAfterMinutes,
    CommonOptions,
    ExtractionOptions,
    ExtractorOption,
    Flag,
    GroupNames,
    PathOption,
    PilotTurns,
    SelectionOptions,
)

if TYPE_CHECKING:  # what these import takes time, which `--help` must not spend
    from turnetl.migration.cutover import ChangeOptions

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
    from turnetl.migration.cutover import ChangeOptions
    from turnetl.migration.moves import MigrationCommand

    change = ChangeOptions(MigrationCommand.CUTOVER, group, accept=accept)
    return _change(change, Confirmation(dry_run, yes, common))


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
    from turnetl.migration.cutover import ChangeOptions
    from turnetl.migration.moves import MigrationCommand

    change = ChangeOptions(MigrationCommand.ROLLBACK, group, discard=discard)
    return _change(change, Confirmation(dry_run, yes, common))


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
    from turnetl.migration.cutover import ChangeOptions
    from turnetl.migration.moves import MigrationCommand

    change = ChangeOptions(MigrationCommand.FINISH, group, keep_days=keep_days)
    return _change(change, Confirmation(dry_run, yes, common))


def _change(change: "ChangeOptions", asking: Confirmation) -> int:
    """Show a change of a group, and carry it out if it is confirmed."""
    from turnetl.migration.cutover import execute_change, preview_change
    from turnetl.views import migration_change as view

    settings = asking.common.settings()
    preview = console.run_async(preview_change(settings, change, now))
    return asking.execute(preview, partial(execute_change, settings, change, now), view)


PlanFile = Annotated[
    PathOption,
    Parameter(
        name="--plan",
        help="A file of `migrate plan --write` in which you filled in the column `session`.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True)
class MigrationSelection:
    """The turns of a run, and its extractor."""

    extractor: ExtractorOption = None
    limit: Annotated[int | None, Parameter(validator=Number(gte=1))] = None
    "Ingest at most this many turns of each group; the next run continues."
    close_after: CloseAfterMinutes = None
    assume_time: str | None = None
    "Time of turns without one: an ISO time (UTC without a zone), or `mtime` for that of the file."
    retry: Flag = False
    "Include turns that failed before."
    wait: Annotated[float, Parameter(validator=Number(gte=0), show_default=False)] = 0
    "Seconds for which to try again if another process writes the graph [default: 0]."
    dry_run: Flag = False
    "Write nothing and send no request; print what would be ingested."

    def as_of_ingest(self) -> SelectionOptions:
        return SelectionOptions(
            extractor=self.extractor,
            limit=self.limit,
            close_after=self.close_after,
            assume_time=self.assume_time,
            wait=self.wait,
            dry_run=self.dry_run,
        )


NO_MIGRATION_SELECTION = MigrationSelection()
app = App(
    name="migrate",
    help="Replace the session-level data of a graph by turns, with a way back.",
)


@app.command
def plan(
    archives: ArchivePaths,
    /,
    *,
    groups: GroupNames = (),
    format: str | None = None,  # noqa: A002 - the name of the option
    plan_file: PlanFile = None,
    write: PathOption = None,
    pilot: PilotTurns = None,
    extractor: ExtractorOption = None,
    extraction: ExtractionOptions = NO_EXTRACTION,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Find which session of the archives each summary in the graph is of, and what a run takes.

    The graph stays as it is.

    Args:
        format: Parse all archives as this format; `turnetl formats` lists them.
        write: Write the ambiguous episodes into this new file, for --plan.
    """
    from turnetl.estimation.workloads import PilotOptions
    from turnetl.migration.plan import (
        MigrationOptions,
        plan_estimated_migration,
        write_plan_file,
    )
    from turnetl.migration.plan_file import check_new
    from turnetl.views import migration as view

    options = MigrationOptions(groups=groups, format_name=format, plan_file=plan_file)
    settings = common.settings(extractor=extractor, **extraction.settings)
    if write is not None:
        check_new(write)
    report = common.executed(
        plan_estimated_migration,
        archives,
        settings,
        options,
        extraction.run_options(),
        now,
        pilot=None if pilot is None else PilotOptions(pilot),
    )
    if write is not None:
        write_plan_file(write, report.plan)
    console.print_messages(view.plan_messages(report, written=write))
    console.print_result(view.plan_view(report), report, as_json=common.json)
    return view.plan_exit_code(report)


@app.command
def run(
    archives: ArchivePaths,
    /,
    *,
    groups: GroupNames = (),
    format: str | None = None,  # noqa: A002 - the name of the option
    plan_file: PlanFile = None,
    selection: MigrationSelection = NO_MIGRATION_SELECTION,
    extraction: ExtractionOptions = NO_EXTRACTION,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Ingest the turns of the matched sessions beside the old data. Readers see nothing of them.

    Args:
        format: Parse all archives as this format; `turnetl formats` lists them.
    """
    from turnetl.migration.migration_report import exit_code_of
    from turnetl.migration.plan import MigrationOptions
    from turnetl.migration.run_migration import run_migration
    from turnetl.views import migration as view

    selected = selection.as_of_ingest()
    settings = selected.settings(common, **extraction.settings)
    report = common.executed(
        run_migration,
        archives,
        settings,
        MigrationOptions(groups, format, plan_file),
        selected.run_options(extraction=extraction, retry=selection.retry),
        now,
    )
    console.print_messages(view.run_messages(report))
    console.print_result(view.run_view(report), report, as_json=common.json)
    return exit_code_of(report)


@app.command
def compare(
    *,
    groups: GroupNames = (),
    questions: PathOption = None,
    html: PathOption = None,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Compare the old data with the turns that a migration ingested. Only the verdict is written.

    Args:
        questions: A table separated by tabs with the columns `question` and `session`: each
            question must lead to its session. Without it, old facts are the questions.
        html: Write the comparison into this file, too: one page with all that is lost.
    """
    from turnetl.migration.run_comparison import compare_migration
    from turnetl.report_pages.migration_page import migration_page
    from turnetl.report_pages.own_file import check_page, write_page
    from turnetl.views import migration as view

    if html is not None:
        check_page(html)
    report = common.executed(
        compare_migration, common.settings(), now, groups=groups, questions=questions
    )
    if html is not None:
        write_page(html, migration_page(report))
    console.print_messages(view.comparison_messages(report))
    console.print_result(view.comparison_view(report), report, as_json=common.json)
    return view.comparison_exit_code(report)


app.command(cutover)
app.command(rollback)
app.command(finish)
