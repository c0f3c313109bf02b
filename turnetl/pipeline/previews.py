"""What a run would send to a model, before it does."""

from collections.abc import Sequence

from turnetl import wiring
from turnetl.errors import BadUsage
from turnetl.extraction.request_preview import RequestPreview
from turnetl.ingest import group as ingesting
from turnetl.lake import Lake
from turnetl.model import Episode
from turnetl.pipeline.tokens import tokens
from turnetl.run_options import Clock, RunOptions, chosen, for_run, scope_of
from turnetl.settings import Settings

_TURNS = 1
"""Of each group, if no limit is given."""


async def requests(
    settings: Settings, limits: RunOptions, clock: Clock
) -> Sequence[RequestPreview]:
    """Return what would be sent to read the next turns of each group. Sends and writes nothing.

    Raises:
        BadUsage: no model is asked, or it is not fully named.
    """
    from turnetl.extraction.preview_builder import requests as of  # noqa: PLC0415 - brings graphiti

    once = for_run(settings, limits)
    if once.extractor_name == "structural":
        raise BadUsage("the `structural` extractor asks no model: there are no requests to show")
    asked, read = wiring.model(once), wiring.reader(once)
    found: list[RequestPreview] = []
    turns = await _upcoming(settings, limits, clock)
    with wiring.journal(settings, clock) as journal:
        kept = journal if settings.journal and journal.path.exists() else None
        for episode, context in turns:
            found += await of(
                episode,
                context,
                read,
                asked,
                journal=kept,
                estimate=tokens,
                parameters=settings.llm.effort or "",
            )
    await asked.close()
    return tuple(found)


async def _upcoming(
    settings: Settings, limits: RunOptions, clock: Clock
) -> Sequence[tuple[Episode, Sequence[Episode]]]:
    """Return the next turns of each group, each with its context."""
    lake, scope = Lake(settings.lake), scope_of(settings, limits, clock())
    most = limits.limit or _TURNS
    found: list[tuple[Episode, Sequence[Episode]]] = []
    async with wiring.store(settings, write=False) as store:
        for group in chosen(sorted(lake.groups()), limits.groups):
            plan = await ingesting.plan_group(
                group, lake, store, scope, recipe=None, context_turns=settings.context_turns
            )
            found += ingesting.next_turns(plan, most)
    return found
