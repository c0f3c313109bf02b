"""`turnetl summarize`: the summaries that are still deferred."""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.cli.option_values import budget_settings
from turnetl.cli.options import (
    NO_COMMON,
    CommonOptions,
    ExtractorOption,
    Flag,
    GroupNames,
)


def summarize(
    *,
    groups: GroupNames = (),
    extractor: ExtractorOption = None,
    budget: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    edited: Flag = False,
    dry_run: Flag = False,
    audit: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Write the summaries of entities that runs deferred and did not write.

    Args:
        extractor: `structural` writes them by rules; the others let the model write them.
        budget: Stop the model when this much is used: 5usd, '200k tokens', or one of each.
        edited: Also write the summaries again that were edited by hand; else they are kept.
        dry_run: Write nothing and send no request; print how many would be written.
        audit: Write nothing; compare this many kept summaries of each group with new ones.
    """
    from turnetl import pipeline
    from turnetl.report import summarize as view

    settings = common.settings(extractor=extractor, **budget_settings(budget))
    with console.show_progress(as_json=common.json) as progress:
        report = console.run_async(
            pipeline.summarize(
                settings,
                now,
                groups,
                dry_run=dry_run,
                edited=edited,
                audit=audit,
                progress=progress,
            )
        )
    console.print_messages(view.messages(report))
    console.print_result(view.table(report), report, as_json=common.json)
    return view.exit_code(report)
