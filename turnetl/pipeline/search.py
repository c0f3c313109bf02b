"""Search over the graph that the settings name, and queries to try it with."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from turnetl import wiring
from turnetl.errors import TurnetlError
from turnetl.ingestion.report import IngestReport
from turnetl.retrieval import sample_queries as sampling
from turnetl.retrieval.search import SearchHit, search
from turnetl.run_options import select_groups
from turnetl.settings import Settings

log = logging.getLogger(__name__)

_FEW_FACTS = 5_000
"""Facts that load in well under a second."""


async def search_turns(
    query: str,
    settings: Settings,
    *,
    groups: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 10,
) -> Sequence[SearchHit]:
    """Return the turns that match a query, best first, each with its facts. Writes nothing.

    Args:
        query: words or a whole question.
        settings: the graph and its embedder.
        groups: group ids or project names; all groups if empty.
        since: only turns that started then or later.
        until: only turns that started before.
        limit: at most this number of turns.

    Raises:
        BadUsage: an unknown group.
        GraphUnusable: the graph cannot be opened.
    """
    async with wiring.store(settings, write=False) as store:
        existing = await store.groups()
        if not existing:
            log.warning("the graph is empty: run `turnetl backfill`, or check --graph")
        selected = select_groups(existing, groups)
        contents = [await store.load(group) for group in selected]
    async with wiring.embedder(settings) as embedder:
        return await search(contents, query, embedder, limit=limit, since=since, until=until)


async def sample_queries(report: IngestReport, settings: Settings) -> Sequence[str]:
    """Return queries that the group that grew most in a run can answer.

    Returns none if no group grew, if it is too large to load quickly, or if the graph is gone.
    """
    grown = [
        group
        for group in report.groups
        if group.committed and group.counts and group.counts.facts <= _FEW_FACTS
    ]
    if not grown:
        return ()
    largest = max(grown, key=lambda group: group.committed).group
    with suppress(TurnetlError):
        async with wiring.store(settings, write=False) as store:
            return sampling.sample_queries(await store.load(largest))
    return ()
