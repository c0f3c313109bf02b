"""The public functions that answer from the search index: what `turnetl show` and others print.

Each brings the index up to date with the graph first, and writes nothing else. The answer says how
current the index is.
"""

import pathlib
from collections.abc import Sequence
from datetime import datetime
from os import fspath
from typing import Literal, Unpack

from turnetl import pipeline
from turnetl.api.arguments import Conditions, Path, check_limit, selection_of
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.pipeline.opened_items import IndexAnswer
from turnetl.pipeline.origin import FileAuthorship
from turnetl.retrieval.details import Details, EntityDetails
from turnetl.retrieval.digest import Digest, DigestSections
from turnetl.retrieval.fix import ErrorHistory
from turnetl.retrieval.hits import SearchHit, SessionHit
from turnetl.retrieval.items import FILE_LABEL, file_path
from turnetl.retrieval.search import Order
from turnetl.retrieval.sessions import Resumption, SessionList
from turnetl.retrieval.turn_summary import Timeline
from turnetl.settings import Settings, load_settings


async def show(
    name: str, settings: Settings | None = None, *, limit: int = 20
) -> IndexAnswer[Details]:
    """Return the turn, session, entity or fact that an id or a name leads to.

    The text of a turn is that of the lake, with complete outcomes; without the lake, that of the
    graph.

    Args:
        name: an id, the beginning of one, the name of an entity, or the path of a file; one that
            starts with a dot is relative to the working directory.
        settings: everything that is configured; None: as the command line would load it.
        limit: at most this many turns of an entity, the last ones.

    Returns:
        A `TurnDetails`, `SessionDetails`, `EntityDetails` or `FactDetails`.

    Raises:
        BadUsage: the name leads to nothing, or to several things, which the message lists.
        GraphUnusable: there is no graph, or it cannot be opened.
        IndexUnusable: the search index cannot be used.
    """
    check_limit(limit)
    return await pipeline.show(
        name, settings or load_settings(), now, directory=pathlib.Path.cwd(), limit=limit
    )


async def timeline(
    settings: Settings | None = None,
    *,
    groups: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    session: str | None = None,
    entity: str | None = None,
    file: str | None = None,
    limit: int = 30,
) -> IndexAnswer[Timeline]:
    """Return the last turns that meet all conditions, oldest first.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        groups: group ids or project names; all groups if empty.
        since: only turns that started then or later; UTC without a time zone.
        until: only turns that started before.
        session: only turns of the session with this id, or the beginning of one.
        entity: only turns with a fact about the entity with this name.
        file: only turns with a fact about this file: its absolute path, or the end of its path.
        limit: at most this many turns.

    Raises:
        BadUsage: an unknown group; without a turn, a condition that no turn of the graph meets.
        GraphUnusable: there is no graph, or it cannot be opened.
        IndexUnusable: the search index cannot be used.
    """
    check_limit(limit)
    selection = selection_of(
        groups=groups, since=since, until=until, session=session, entity=entity, file=file
    )
    return await pipeline.timeline(
        settings or load_settings(), now, selection=selection, limit=limit
    )


async def sessions(
    settings: Settings | None = None, *, limit: int = 20, **conditions: Unpack[Conditions]
) -> IndexAnswer[SessionList]:
    """Return the last sessions with a turn that meets all conditions, newest first.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        limit: at most this many sessions.
        conditions: as of `search`.

    Raises:
        BadUsage: an unknown group; without a session, a condition that no turn of the graph meets.
        GraphUnusable: there is no graph, or it cannot be opened.
        IndexUnusable: the search index cannot be used.
    """
    check_limit(limit)
    selection = selection_of(**conditions)
    return await pipeline.sessions(
        settings or load_settings(), now, selection=selection, limit=limit
    )


async def resume(
    name: str, settings: Settings | None = None, *, groups: Sequence[str] = ()
) -> IndexAnswer[Resumption]:
    """Return how a session is continued in its agent, and why it cannot be. Starts nothing.

    Args:
        name: the id of a session or a turn, the beginning of one, or words of a search, whose best
            hit counts.
        settings: everything that is configured; None: as the command line would load it.
        groups: of a search, only turns of these groups, ids or project names; all if empty.

    Raises:
        BadUsage: the id leads to several things, or the words to no strong match.
        GraphUnusable: there is no graph, or it cannot be opened.
        IndexUnusable: the search index cannot be used.
    """
    return await pipeline.resume(
        name, settings or load_settings(), now, directory=pathlib.Path.cwd(), groups=groups
    )


async def digest(
    settings: Settings | None = None,
    *,
    groups: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    by: str = "day",
) -> IndexAnswer[Digest]:
    """Return what happened: per session the intent, decisions, problems, changes and the outcome.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        groups: group ids or project names; all groups if empty.
        since: only turns that started then or later; UTC without a time zone; None: all turns.
        until: only turns that started before.
        by: `day` (UTC) or `project`: what a section is about.

    Raises:
        BadUsage: an unknown group, or an unknown kind of section.
        GraphUnusable: there is no graph, or it cannot be opened.
        IndexUnusable: the search index cannot be used.
    """
    kinds = [kind.value for kind in DigestSections]
    if by not in kinds:
        raise BadUsage(f"a digest is by {' or '.join(kinds)}, not by `{by}`")
    selection = selection_of(groups=groups, since=since, until=until)
    return await pipeline.digest(
        settings or load_settings(), now, selection=selection, by=DigestSections(by)
    )


async def entity(
    name: str,
    settings: Settings | None = None,
    *,
    label: str | None = None,
    groups: Sequence[str] = (),
    limit: int = 20,
) -> IndexAnswer[EntityDetails]:
    """Return an entity with the last turns that state something about it, oldest first.

    Args:
        name: its name, in any case, or the beginning of its id.
        settings: everything that is configured; None: as the command line would load it.
        label: only an entity with this label.
        groups: only an entity of these groups, ids or project names; all groups if empty.
        limit: at most this many turns.

    Raises:
        BadUsage: there is none, or there are several, which the message lists, and none or several
            are of the working directory's project; an unknown group.
        GraphUnusable: there is no graph, or it cannot be opened.
        IndexUnusable: the search index cannot be used.
    """
    check_limit(limit)
    return await pipeline.entity(
        name,
        settings or load_settings(),
        now,
        directory=pathlib.Path.cwd(),
        label=label,
        groups=groups,
        limit=limit,
    )


async def file(
    path: Path,
    settings: Settings | None = None,
    *,
    groups: Sequence[str] = (),
    limit: int = 20,
) -> IndexAnswer[EntityDetails]:
    """Return a file with the last turns that state something about it, oldest first.

    Args:
        path: in its project, the end of it, or the absolute path in any checkout; one that starts
            with a dot is relative to the working directory. The file need not exist.
        settings: everything that is configured; None: as the command line would load it.
        groups: only a file of these groups, ids or project names; all groups if empty.
        limit: at most this many turns.

    Raises:
        BadUsage: there is none, or there are several, which the message lists, and none or several
            are of the working directory's project; an unknown group.
        GraphUnusable: there is no graph, or it cannot be opened.
        IndexUnusable: the search index cannot be used.
    """
    name = file_path(fspath(path), pathlib.Path.cwd())
    return await entity(name, settings, label=FILE_LABEL, groups=groups, limit=limit)


async def fix(
    error: str,
    settings: Settings | None = None,
    *,
    groups: Sequence[str] = (),
    limit: int = 3,
) -> IndexAnswer[Sequence[ErrorHistory]]:
    """Return the errors that match a text, best first, each with what resolved it.

    Args:
        error: a message, a part of one, or a log that contains it; an empty text matches nothing.
        settings: everything that is configured; None: as the command line would load it.
        groups: only errors of these groups, ids or project names; all groups if empty.
        limit: at most this many errors.

    Raises:
        BadUsage: an unknown group.
        GraphUnusable: there is no graph, or it cannot be opened.
        IndexUnusable: the search index cannot be used.
    """
    check_limit(limit)
    found = await pipeline.fix(error, settings or load_settings(), now, groups=groups, limit=limit)
    return IndexAnswer(found.value.errors, found.caught_up_at, found.unread)


async def why(
    path: Path,
    settings: Settings | None = None,
    *,
    line: int | None = None,
    limit: int = 10,
) -> IndexAnswer[FileAuthorship]:
    """Return which turns wrote a file or a line of it, by the commits of git.

    Args:
        path: a file in a git repository.
        settings: everything that is configured; None: as the command line would load it.
        line: only this line, from 1; None: all lines.
        limit: at most this many commits, the newest.

    Raises:
        BadUsage: there is no such file, or git does not know it or the line.
        Fatal: there is no `git`.
        GraphUnusable: there is no graph, or it cannot be opened.
        IndexUnusable: the search index cannot be used.
    """
    check_limit(limit)
    return await pipeline.why(
        pathlib.Path(path), line, settings or load_settings(), now, limit=limit
    )


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
