"""The requests that a run would send to a model, without sending them."""

from collections.abc import Sequence

from turnetl import wiring
from turnetl.clock import Clock
from turnetl.extraction.request_preview import RequestPreview
from turnetl.ingestion import group as ingesting
from turnetl.pipeline.group_plans import PlannedGroups
from turnetl.pipeline.tokens import tokens
from turnetl.run_options import RunOptions, has_work, settings_for_run
from turnetl.settings import Settings


async def preview_requests(
    planned: PlannedGroups, settings: Settings, options: RunOptions, clock: Clock
) -> Sequence[RequestPreview]:
    """Return the requests that extract the next turns of a planned run. Sends and writes nothing.

    The next turns are the first one of the run, or with a limit those of each group.
    """
    from turnetl.extraction import preview_builder  # noqa: PLC0415 - imports graphiti

    run_settings = settings_for_run(settings, options)
    ready = [
        group.group
        for group in planned.report.groups
        if group.group in planned.plans and has_work(group, options)
    ]
    if run_settings.extractor_name == "structural" or not ready:
        return ()
    groups, limit = (ready, options.limit) if options.limit else (ready[:1], 1)
    model, extractor = wiring.model(run_settings), wiring.model_extractor(run_settings)
    previews: list[RequestPreview] = []
    with wiring.journal(settings, clock) as journal:
        readable = journal if settings.journal and journal.path.exists() else None
        for group in groups:
            for episode, context in ingesting.next_turns(planned.plans[group], limit):
                previews += await preview_builder.preview_requests(
                    episode,
                    context,
                    extractor,
                    model,
                    journal=readable,
                    estimate=tokens,
                    parameters=settings.llm.effort or "",
                )
    await model.close()
    return previews
