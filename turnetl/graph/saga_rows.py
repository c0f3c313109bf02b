"""Rows of Graphiti's sagas: a session, its links to its episodes, and their order."""

from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise

from turnetl.base import ids
from turnetl.base.model import Change, GroupId, SessionId
from turnetl.graph import to_rows


def saga_row(change: Change, now: datetime) -> to_rows.RowDict:
    """Return the saga of the turn's session, with the properties of a new one.

    An empty summary is not written to one that exists.
    """
    turn = change.episode.turn
    return {
        "uuid": ids.saga_id(turn.group_id, turn.session_id),
        "name": turn.session_id,
        "group_id": turn.group_id,
        "created_at": now,
        "summary": change.saga_texts.get(turn.session_id, ""),
    }


def saga_summary_rows(
    group: GroupId, texts: Mapping[SessionId, str], *, without: SessionId | None = None
) -> list[to_rows.RowDict]:
    """Return uuid and summary of each saga, but for that of one session."""
    return [
        {"uuid": ids.saga_id(group, session), "summary": text}
        for session, text in sorted(texts.items())
        if session != without
    ]


def saga_links(change: Change) -> list[to_rows.LinkRow]:
    """Return the links from the saga to the turn's episodes, in order."""
    turn = change.episode.turn
    saga = ids.saga_id(turn.group_id, turn.session_id)
    return to_rows.links_from("HAS_EPISODE", saga, to_rows.episode_ids(change))


def next_link(before: str, after: str) -> to_rows.LinkRow:
    """Return the link from one episode of a session to the next one."""
    return to_rows.LinkRow(ids.edge_id("NEXT_EPISODE", before, after), before, after)


def next_links(change: Change) -> list[to_rows.LinkRow]:
    """Return the new NEXT_EPISODE links: to the turn, between its chunks, and to the next turn."""
    chain = [_previous_episode(change), *to_rows.episode_ids(change), change.next_turn]
    return [next_link(before, after) for before, after in pairwise(chain) if before and after]


def outdated_links(change: Change) -> list[to_rows.LinkRow]:
    """Return the link that a late turn replaces: the one between its two neighbours."""
    before = _previous_episode(change)
    return [next_link(before, change.next_turn)] if before and change.next_turn else []


def _previous_episode(change: Change) -> str | None:
    """Return the last episode of the turn before."""
    before = change.previous_turn
    return ids.chunk_id(before, change.previous_chunks - 1) if before else None
