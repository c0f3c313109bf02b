"""The public functions that search."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Unpack

from turnetl import pipeline
from turnetl.api.arguments import Conditions, check_limit, selection_of
from turnetl.base.clock import now
from turnetl.retrieval.hits import SearchHit, SessionHit
from turnetl.retrieval.search import Order
from turnetl.settings import Settings, load_settings


async def search_sessions(
    query: str,
    settings: Settings | None = None,
    *,
    groups: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 10,
) -> Sequence[SessionHit]:
    """Return the session-level episodes of other programs that match a query, best first.

    A hit leads to the session that its episode names, if it names one, and never to a turn. Writes
    nothing but the search index, which is brought up to date with the graph first.

    Args:
        query: words or a whole question; an empty one lists the episodes that the other arguments
            select, newest first.
        settings: everything that is configured; None: as the command line would load it.
        groups: group ids or project names; all groups if empty.
        since: only episodes with this reference time or a later one; UTC without a time zone.
        until: only episodes with an earlier reference time.
        limit: at most this number of episodes.

    Raises:
        BadUsage: an unknown group, a limit below 1, or settings that are not valid.
        GraphUnusable: the graph cannot be opened.
    """
    check_limit(limit)
    selection = selection_of(groups=groups, since=since, until=until)
    return await pipeline.search_sessions(
        query, settings or load_settings(), now, selection=selection, limit=limit
    )


async def search(
    query: str,
    settings: Settings | None = None,
    *,
    sort: Literal["score", "time"] = "score",
    limit: int = 10,
    rerank: bool = False,
    **conditions: Unpack[Conditions],
) -> Sequence[SearchHit]:
    """Return the turns that match a query, best first, each with its facts.

    Session-level episodes are in `session_hits` of the best turn of their session; those of other
    sessions are found by `search_sessions`. Writes nothing but the search index, which is brought
    up to date with the graph first.

    Args:
        query: words or a whole question; an empty one lists the turns that the conditions select,
            newest first.
        settings: everything that is configured; None: as the command line would load it.
        sort: order of the hits: best first, or the same hits newest first.
        limit: at most this number of turns.
        rerank: let the configured model rate the best turns and order them.
        conditions: `groups`, `since`, `until`, `as_of`, `session`, `format_name`, `branch`, `tool`,
            `file`, `entity`, `label` and `relation`, each as the option of `turnetl search`. Groups
            are ids or project names, a time without a time zone is UTC, and a file is an absolute
            path or the end of one.

    Raises:
        BadUsage: an unknown group, a limit below 1, or settings that are not valid; without a hit,
            a condition that no turn of the graph meets.
        GraphUnusable: the graph cannot be opened.
        TurnetlError: as the model, if it reranks.
    """
    check_limit(limit)
    selection = selection_of(**conditions)
    result = await pipeline.search_turns(
        query,
        settings or load_settings(),
        now,
        selection=selection,
        order=Order(sort),
        limit=limit,
        rerank=rerank,
    )
    return result.hits
