"""`turnetl sources`, and the archives that `turnetl backfill` proposes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import NO_COMMON, CommonOptions

if TYPE_CHECKING:  # importing it takes a second, which `--help` must not spend
    from turnetl.settings import Settings


def sources(*, common: CommonOptions = NO_COMMON) -> int:
    """Find the archives of this machine's agents: what is new, and what will be deleted when."""
    from turnetl import pipeline, wiring
    from turnetl.report import sources as view

    with console.show_progress(as_json=common.json) as progress:
        report = pipeline.sources(common.settings(), wiring.this_machine(), now, progress=progress)
    console.print_messages(view.messages(report))
    table = view.table_and_command(report, Path.home(), common.next_command)
    console.print_result(table, report, as_json=common.json)
    return ExitCode.DONE


def proposed_archives(settings: "Settings", common: CommonOptions) -> Sequence[str]:
    """Return the archives of this machine's agents, if the user says yes; else none.

    Raises:
        BadUsage: there is no terminal to ask on, or there are no new archives.
    """
    from turnetl import agents, pipeline, wiring
    from turnetl.report import sources as view

    if common.json or not console.is_interactive():
        paths = agents.source_paths(wiring.this_machine())
        raise BadUsage(view.missing_archives(paths, common.next_command))

    with console.show_progress(as_json=False) as progress:
        report = pipeline.sources(settings, wiring.this_machine(), now, progress=progress)
    console.print_messages(view.messages(report))
    console.print_view(view.table(report, Path.home()))
    if not report.pending:
        raise BadUsage("there are no new archives of agents: name ARCHIVES to read others")
    if console.confirm(view.question(report)):
        return report.paths
    console.print_messages(["nothing was read; name ARCHIVES to read only some of them"])
    return ()
