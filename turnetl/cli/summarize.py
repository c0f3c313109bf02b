"""`turnetl summarize`: the summaries that are still deferred."""

from turnetl import console
from turnetl.cli.options import NO_COMMON, CommonOptions, Flag, GroupNames
from turnetl.clock import now


def summarize(
    *,
    groups: GroupNames = (),
    dry_run: Flag = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Write the summaries of entities that runs deferred and did not write.

    Args:
        dry_run: Write nothing; print how many would be written.
    """
    from turnetl import pipeline
    from turnetl.json_output.summarize import summarize_output
    from turnetl.report import summarize as view

    settings = common.settings()
    with console.show_progress(as_json=common.json) as progress:
        report = console.run_async(
            pipeline.summarize(settings, now, groups, dry_run=dry_run, progress=progress)
        )
    console.print_messages(view.messages(report))
    console.print_result(view.table(report), summarize_output(report), as_json=common.json)
    return view.exit_code(report)
