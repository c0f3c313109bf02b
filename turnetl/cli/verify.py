"""The command that verifies the graph against the lake and the search index."""

from functools import partial
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.cli.confirmation import Confirmation, Yes
from turnetl.cli.options import NO_COMMON, CommonOptions, Flag, GroupNames

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
