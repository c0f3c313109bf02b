"""The requests that a run would send to a model, without sending them."""

from collections.abc import Sequence

from turnetl import wiring
from turnetl.clock import Clock
from turnetl.errors import BadUsage
from turnetl.extraction.request_preview import RequestPreview
from turnetl.ingestion import group as ingesting
from turnetl.lake import Lake
from turnetl.model import Episode
from turnetl.pipeline.tokens import tokens
from turnetl.run_options import RunOptions, ingest_scope, select_groups, settings_for_run
from turnetl.settings import Settings

_DEFAULT_TURNS = 1
"""Turns of each group, if the options set no limit."""


async def preview_requests(
    settings: Settings, options: RunOptions, clock: Clock
) -> Sequence[RequestPreview]:
    """Return the requests that extract the next turns of each group. Sends and writes nothing.

    Raises:
        BadUsage: the extractor uses no model, or the model is not fully configured.
    """
    from turnetl.extraction.preview_builder import preview_requests  # noqa: PLC0415 - imports graphiti

    run_settings = settings_for_run(settings, options)
    if run_settings.extractor_name == "structural":
        raise BadUsage("the `structural` extractor uses no model: there are no requests to show")
    model, extractor = wiring.model(run_settings), wiring.model_extractor(run_settings)
    previews: list[RequestPreview] = []
    turns = await _next_turns(settings, options, clock)
    with wiring.journal(settings, clock) as journal:
        readable = journal if settings.journal and journal.path.exists() else None
        for episode, context in turns:
            previews += await preview_requests(
                episode,
                context,
                extractor,
                model,
                journal=readable,
                estimate=tokens,
                parameters=settings.llm.effort or "",
            )
    await model.close()
    return tuple(previews)


async def _next_turns(
    settings: Settings, options: RunOptions, clock: Clock
) -> Sequence[tuple[Episode, Sequence[Episode]]]:
    """Return the next turns of each group, each with its context."""
    lake, scope = Lake(settings.lake), ingest_scope(settings, options, clock())
    most = options.limit or _DEFAULT_TURNS
    turns: list[tuple[Episode, Sequence[Episode]]] = []
    async with wiring.store(settings, write=False) as store:
        for group in select_groups(sorted(lake.groups()), options.groups):
            plan = await ingesting.plan_group(
                group, lake, store, scope, recipe=None, context_turns=settings.context_turns
            )
            turns += ingesting.next_turns(plan, most)
    return turns
