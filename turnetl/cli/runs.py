"""`turnetl runs`: the runs that wrote to the graph."""

from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import INSPECTION_COMMANDS, NO_COMMON, CommonOptions, GroupNames

_LIMIT = 20

app = App(
    name="runs",
    help="List the runs that wrote to the graph; `runs show` prints one.",
    group=INSPECTION_COMMANDS,
)


@app.default
def runs(
    *,
    groups: GroupNames = (),
    limit: Annotated[int, Parameter(name=("--limit", "-n"), validator=Number(gte=1))] = _LIMIT,
    common: CommonOptions = NO_COMMON,
) -> int:
    """List the runs that wrote to the graph, newest first; `runs show` prints one.

    Args:
        limit: Print at most this many runs.
    """
    from turnetl import pipeline
    from turnetl.views import runs as view

    report = console.run_async(pipeline.runs(common.settings(), groups, limit=limit))
    console.print_result(view.view(report), report, as_json=common.json)
    return ExitCode.DONE


@app.command
def show(run: str, /, *, common: CommonOptions = NO_COMMON) -> int:
    """Print who started a run, what it did, what it cost, and how it ended.

    Args:
        run: Id of the run, or the beginning of it.
    """
    from turnetl import pipeline
    from turnetl.views import runs as view

    recorded = console.run_async(pipeline.show_run(common.settings(), run))
    console.print_result(view.details(recorded), recorded, as_json=common.json)
    return ExitCode.DONE
