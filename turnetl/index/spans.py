"""Which groups and sessions an index holds, and from when to when."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from turnetl.model import GroupId, SessionId

GROUPS = """
SELECT group_id, count(*), count(DISTINCT session_id), min(started_at), max(started_at)
FROM turns GROUP BY group_id ORDER BY max(started_at) DESC, group_id"""

# The index on sessions holds all columns: no row with its texts is read.
SESSIONS = """
SELECT session_id, group_id, count(*), min(started_at), max(started_at), count(*) OVER ()
FROM turns WHERE :groups IS NULL OR group_id IN (SELECT value FROM json_each(:groups))
GROUP BY group_id, session_id
HAVING (:since IS NULL OR max(started_at) >= :since)
    AND (:until IS NULL OR min(started_at) < :until)
ORDER BY max(started_at) DESC, group_id, session_id LIMIT :limit OFFSET :offset"""


@dataclass(frozen=True, slots=True)
class GroupSpan:
    """A group with at least one turn."""

    group_id: GroupId
    turns: int
    sessions: int
    first: datetime
    """When its first turn started."""
    last: datetime
    """When its last turn started."""


@dataclass(frozen=True, slots=True)
class SessionSpan:
    """The turns of a session in a group."""

    session_id: SessionId
    group_id: GroupId
    turns: int
    first: datetime
    """When its first turn started."""
    last: datetime
    """When its last turn started."""


@dataclass(frozen=True, slots=True)
class ListedSessions:
    sessions: Sequence[SessionSpan]
    """The one with the newest turn first."""
    count: int
    """Of all sessions that meet the conditions; 0 if the page starts after them."""
