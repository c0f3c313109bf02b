"""`turnetl verify` compares the graph with lake and search index; `graph` maintains its file."""

from functools import partial
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.confirmation import Confirmation, Yes
from turnetl.cli.options import NO_COMMON, CommonOptions, Flag, GroupNames, PathOption

_EXAMPLES = 5


def verify(
    *,
    groups: GroupNames = (),
    fix: Flag = False,
    yes: Yes = False,
    examples: Annotated[int, Parameter(validator=Number(gte=0), show_default=False)] = _EXAMPLES,
    vectors: Flag = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Read everything in the lake; compare the graph with itself, lake and index.

    Args:
        fix: Repair what is safe, after showing it; without --yes it asks.
        yes: Do not ask.
        examples: Print at most this many examples of each finding [default: 5].
        vectors: Compare every vector with its name or text too.
    """
    if yes and not fix:
        raise BadUsage("`--yes` is an option of `--fix`: add it")
    from turnetl import pipeline
    from turnetl.views import verify as view

    settings = common.settings()
    options = pipeline.VerifyOptions(tuple(groups), examples, vectors, common.config)
    report = common.executed(pipeline.verify, settings, options)
    if not (fix and report.can_repair):
        console.print_messages(view.messages(report))
        console.print_result(view.result(report), report, as_json=common.json)
        return view.exit_code(report)
    asking = Confirmation(dry_run=False, yes=yes, common=common)
    repair = partial(pipeline.repair_graph, settings, report, options, now)
    return asking.execute(report, repair, view)


graph_app = App(
    name="graph",
    help="Maintain the file of an embedded graph.",
)


@graph_app.command
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
