"""The public functions that search."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from turnetl import pipeline
from turnetl.api.arguments import check_limit, selection_of
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
    selection = selection_of(groups, since=since, until=until)
    return await pipeline.search_sessions(
        query, settings or load_settings(), now, selection=selection, limit=limit
    )


async def search(
    query: str,
    settings: Settings | None = None,
    *,
    groups: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    as_of: datetime | None = None,
    session: str | None = None,
    format_name: str | None = None,
    branch: str | None = None,
    tool: str | None = None,
    file: str | None = None,
    entity: str | None = None,
    label: str | None = None,
    relation: str | None = None,
    sort: Literal["score", "time"] = "score",
    limit: int = 10,
    rerank: bool = False,
) -> Sequence[SearchHit]:
    """Return the turns that match a query, best first, each with its facts.

    Session-level episodes are in `session_hits` of the best turn of their session; those of other
    sessions are found by `search_sessions`. Writes nothing but the search index, which is brought
    up to date with the graph first.

    Args:
        query: words or a whole question; an empty one lists the turns that the other arguments
            select, newest first.
        settings: everything that is configured; None: as the command line would load it.
        groups: group ids or project names; all groups if empty.
        since: only turns that started then or later; UTC without a time zone.
        until: only turns that started before.
        as_of: only turns that started before, with the facts that held then.
        session: only turns of the session with this id, or the beginning of one.
        format_name: only turns of archives of this format.
        branch: only turns on this git branch.
        tool: only turns in which this tool was called.
        file: only turns with a fact about this file: its absolute path, or the end of its path.
        entity: only turns with a fact about the entity with this name.
        label: only turns with a fact about an entity with this label.
        relation: only turns with a fact with this relation.
        sort: order of the hits: best first, or the same hits newest first.
        limit: at most this number of turns.
        rerank: let the configured model rate the best turns and order them.

    Raises:
        BadUsage: an unknown group, a limit below 1, or settings that are not valid; without a hit,
            a condition that no turn of the graph meets.
        GraphUnusable: the graph cannot be opened.
        TurnetlError: as the model, if it reranks.
    """
    check_limit(limit)
    selection = selection_of(
        groups,
        since=since,
        until=until,
        as_of=as_of,
        session=session,
        format=format_name,
        branch=branch,
        tool=tool,
        file=file,
        entity=entity,
        label=label,
        relation=relation,
    )
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
