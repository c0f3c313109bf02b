"""The command that makes the search index, or brings it up to date."""

from turnetl import console
from turnetl.cli.options import NO_COMMON, CommonOptions, Flag
from turnetl.clock import now
from turnetl.exit_code import ExitCode


def index_(*, rebuild: Flag = False, common: CommonOptions = NO_COMMON) -> int:
    """Bring the search index up to date with the graph; a search does so too.

    Args:
        rebuild: Delete the index first, and make it anew.
    """
    from turnetl import pipeline
    from turnetl.json_output.index import index_output
    from turnetl.report import index as view

    settings = common.settings()
    with console.show_progress(as_json=common.json) as progress:
        report = console.run_async(
            pipeline.update_index(settings, now, rebuild=rebuild, progress=progress)
        )
    console.print_result(view.table(report), index_output(report), as_json=common.json)
    return ExitCode.DONE
