"""Which groups and sessions an index holds, and from when to when."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from turnetl.base.model import GroupId, SessionId

GROUPS = """
SELECT group_id, count(*), count(DISTINCT session_id), min(started_at), max(started_at)
FROM turns GROUP BY group_id ORDER BY max(started_at) DESC, group_id"""

_OF_SESSIONS = """
FROM turns WHERE :groups IS NULL OR group_id IN (SELECT value FROM json_each(:groups))
GROUP BY group_id, session_id
HAVING (:since IS NULL OR max(started_at) >= :since)
    AND (:until IS NULL OR min(started_at) < :until)"""

# The index on sessions holds all columns: no row with its texts is read. To count them by a second
# pass takes less time than a window function, which keeps all of them.
SESSIONS = f"""
SELECT session_id, group_id, count(*), min(started_at), max(started_at),
    (SELECT count(*) FROM (SELECT 1 {_OF_SESSIONS}))
{_OF_SESSIONS}
ORDER BY max(started_at) DESC, group_id, session_id LIMIT :limit OFFSET :offset"""  # noqa: S608 - made of a constant


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
