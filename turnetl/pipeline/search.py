"""Search over the graph that the settings name, and queries to try it with."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from turnetl import wiring
from turnetl.clock import Clock
from turnetl.errors import TurnetlError
from turnetl.index.selection import Selection
from turnetl.ingestion.report import IngestReport
from turnetl.pipeline.index import check_graph, current_index
from turnetl.progress import Progress, ignore_progress
from turnetl.retrieval import sample_queries as sampling
from turnetl.retrieval.search import SearchHit, search
from turnetl.run_options import select_groups
from turnetl.settings import Settings

log = logging.getLogger(__name__)

_FEW_FACTS = 5_000
"""Facts that load in well under a second."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a search, and how old the data are."""

    hits: Sequence[SearchHit]
    distant: int
    """Turns that were left out because nothing is close to the query."""
    caught_up_at: datetime | None
    """When the index last held the whole graph; None if it never did."""
    unread: str | None
    """Why the graph could not be read, so that its newest turns may be missing; None if it was."""


async def search_turns(
    query: str,
    settings: Settings,
    clock: Clock,
    *,
    selection: Selection = Selection(),  # noqa: B008 - a frozen value
    limit: int = 10,
    nearest: bool = False,
    progress: Progress = ignore_progress,
) -> SearchResult:
    """Return the turns that match a query, best first, each with its facts.

    Reads from the graph what the index lacks. Writes nothing but the index.

    Args:
        query: words or a whole question.
        settings: the graph, its index and its embedder.
        clock: returns the current time.
        selection: which turns to look at; its groups may be project names.
        limit: at most this number of turns.
        nearest: return hits even if none is close to the query.
        progress: called while the index is brought up to date.

    Raises:
        BadUsage: an unknown group.
        GraphUnusable: there is no graph, or it cannot be opened.
        IndexUnusable: the index cannot be used.
    """
    check_graph(settings)
    async with current_index(settings, clock, progress) as opened:
        groups = opened.index.groups()
        if not groups:
            log.warning("the graph is empty: run `turnetl backfill`, or check --graph")
        known = [group.group_id for group in groups]
        chosen = select_groups(known, selection.groups) if selection.groups else ()
        found = await search(
            opened.index,
            query,
            opened.embedder,
            selection=replace(selection, groups=tuple(chosen)),
            limit=limit,
            nearest=nearest,
        )
        return SearchResult(found.hits, found.distant, opened.index.caught_up_at, opened.unread)


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
