"""`turnetl graph`: the file of an embedded graph."""

from typing import Annotated

from cyclopts import App, Parameter

from turnetl import console
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import INSPECTION_COMMANDS, NO_COMMON, CommonOptions, PathOption

app = App(
    name="graph",
    help="Maintain the file of an embedded graph.",
    group=INSPECTION_COMMANDS,
)


@app.command
def upgrade(
    *,
    release: Annotated[PathOption, Parameter(name="--with")] = None,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Carry the graph over into the storage version of the installed Ladybug.

    The old file stays beside the new one. Nothing to do if the version is the same.

    Args:
        release: A folder with the release of Ladybug that wrote the graph, made by `pip install
            --target FOLDER ladybug==RELEASE`, or a Python that has it and pyarrow. Only needed if
            the installed release cannot read the graph.
    """
    from turnetl import pipeline
    from turnetl.views import verify as view

    report = common.executed(pipeline.upgrade, common.settings(), release)
    console.print_messages(view.upgrade_messages(report))
    console.print_result(view.upgrade_view(report), report, as_json=common.json)
    return ExitCode.DONE
