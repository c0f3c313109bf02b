"""`turnetl migrate`: session-level data of other programs, compared with the archives."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from turnetl import console
from turnetl.cli.options import (
    INSPECTION_COMMANDS,
    NO_COMMON,
    ArchivePaths,
    CommonOptions,
    GroupNames,
)

PlanFile = Annotated[
    Path | None,
    Parameter(
        name="--plan",
        help="A file of `migrate plan --write` in which you filled in the column `session`.",
    ),
]
app = App(
    name="migrate",
    help="Plan the migration of a graph that was filled session by session.",
    group=INSPECTION_COMMANDS,
)


@app.command
def plan(
    archives: ArchivePaths,
    /,
    *,
    groups: GroupNames = (),
    format: str | None = None,  # noqa: A002 - the name of the option
    plan_file: PlanFile = None,
    write: Path | None = None,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Find which session of the archives each summary in the graph is of. The graph stays as it is.

    Args:
        format: Parse all archives as this format; `turnetl formats` lists them.
        write: Write the ambiguous episodes into this new file, for --plan.
    """
    from turnetl import pipeline
    from turnetl.json_output.migrate_plan import migration_plan_output
    from turnetl.report import migration_plan as view

    options = pipeline.MigrationOptions(groups=groups, format_name=format, plan_file=plan_file)
    with console.show_progress(as_json=common.json) as progress:
        report = console.run_async(
            pipeline.plan_migration(archives, common.settings(), options, progress=progress)
        )
    if write is not None:
        pipeline.write_plan_file(write, report)
    console.print_messages(view.messages(report))
    console.print_result(view.table(report), migration_plan_output(report), as_json=common.json)
    return view.exit_code(report)
