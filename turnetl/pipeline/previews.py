"""The requests that a run would send to a model, without sending them."""

from collections.abc import AsyncIterator, Iterable, Sequence

import polars as pl

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.model import Episode
from turnetl.episodes.chunking import estimate_tokens
from turnetl.extraction.port import RequestPreview
from turnetl.ingestion import group as ingesting
from turnetl.pipeline.group_plans import PlannedGroups
from turnetl.pipeline.run_options import RunOptions, has_work, settings_for_run
from turnetl.settings import Settings


async def preview_requests(
    planned: PlannedGroups, settings: Settings, options: RunOptions, clock: Clock
) -> Sequence[RequestPreview]:
    """Return the requests that extract the next turns of a planned run. Sends and writes nothing.

    The next turns are the first one of the run, or with a limit those of each group.
    """
    run_settings = settings_for_run(settings, options)
    ready = [
        group.group
        for group in planned.report.groups
        if group.group in planned.plans and has_work(group, options)
    ]
    if run_settings.extractor_name == "structural" or not ready:
        return ()
    groups, limit = (ready, options.limit) if options.limit else (ready[:1], 1)
    turns = (turn for group in groups for turn in ingesting.next_turns(planned.plans[group], limit))
    return [preview async for preview in previews_of(turns, run_settings, clock)]


async def previews_of(
    turns: Iterable[tuple[Episode, Sequence[Episode]]], settings: Settings, clock: Clock
) -> AsyncIterator[RequestPreview]:
    """Yield the requests that extract these turns, each given with its context. Writes nothing."""
    from turnetl.extraction import preview_builder  # noqa: PLC0415 - imports graphiti
    from turnetl.extraction.structural.extractor import extract_findings  # noqa: PLC0415 - as above

    model, extractor = wiring.model(settings), wiring.model_extractor(settings)
    with wiring.journal(settings, clock) as journal:
        readable = journal if settings.journal and journal.path.exists() else None
        for episode, context in turns:
            known = None
            if settings.extractor_name == "hybrid":
                known = [one.text for one in extract_findings(episode, context).facts]
            previews = await preview_builder.preview_requests(
                episode,
                context,
                extractor,
                model,
                journal=readable,
                estimate=estimated_tokens,
                parameters=settings.llm.effort or "",
                known=known,
            )
            for preview in previews:
                yield preview
    await model.close()


def estimated_tokens(text: str) -> int:
    return int(estimate_tokens(pl.Series([text]))[0])
