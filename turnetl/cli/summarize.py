"""`turnetl summarize`, which writes deferred summaries, and `turnetl communities`."""

from typing import Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.cli.options import (
    NO_COMMON,
    CommonOptions,
    ExtractorOption,
    Flag,
    GroupNames,
    budget_settings,
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
    from turnetl.views import summarize as view

    settings = common.settings(extractor=extractor, **budget_settings(budget))
    report = common.executed(
        pipeline.summarize, settings, now, groups, dry_run=dry_run, edited=edited, audit=audit
    )
    console.print_messages(view.messages(report))
    console.print_result(view.view(report), report, as_json=common.json)
    return view.exit_code(report)


app = App(
    name="communities",
    help="Build communities: clusters of entities that facts connect closely.",
)


@app.command
def build(
    *,
    groups: GroupNames = (),
    algorithm: Literal["leiden", "label-propagation"] = "leiden",
    resolution: float = 1.0,
    everything: Annotated[Flag, Parameter(name="--all")] = False,
    extractor: ExtractorOption = None,
    budget: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    max_seconds: Annotated[float | None, Parameter(validator=Number(gte=0))] = None,
    dry_run: Flag = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Build the communities of the graph; only those are written whose members changed.

    Args:
        algorithm: How communities are found; `leiden` needs the extra `communities`.
        resolution: A higher one makes Leiden find more and smaller communities.
        everything: Write the communities again whose members did not change.
        extractor: `structural` names them by rules; the others let the model name them.
        budget: Stop the model when this much is used: 5usd, '200k tokens', or one of each.
        max_seconds: Begin no further batch after this time; the same command continues.
        dry_run: Write nothing and send no request; print what would change.
    """
    from turnetl import pipeline
    from turnetl.summaries.communities import Algorithm
    from turnetl.views import summarize as view

    settings = common.settings(extractor=extractor, **budget_settings(budget))
    options = pipeline.CommunityOptions(
        groups=groups,
        algorithm=Algorithm(algorithm),
        resolution=resolution,
        everything=everything,
        max_seconds=max_seconds,
        dry_run=dry_run,
    )
    report = common.executed(pipeline.build_communities, settings, options, now)
    console.print_messages(view.communities_messages(report))
    console.print_result(view.communities_view(report), report, as_json=common.json)
    return view.communities_exit_code(report)
