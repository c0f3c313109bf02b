"""Names of the groups in which a migration keeps turns before its cutover, and old data after it.

Two underscores follow each other in no name that `ids.group_id` makes, so no project has such one.
"""

import re

from turnetl.base.model import GroupId

_TURNS = "__turns"
_SESSIONS = "__sessions_"
_SHADOW = re.compile(rf"(?P<group>.+?)(?:{_TURNS}|{_SESSIONS}[0-9a-f]{{8}})")


def turns_group(group: GroupId) -> GroupId:
    """Return the group that holds the turns of `group` until the cutover."""
    return GroupId(f"{group}{_TURNS}")


def sessions_group(group: GroupId, migration_id: str) -> GroupId:
    """Return the group that holds the session-level data of `group` after the cutover."""
    return GroupId(f"{group}{_SESSIONS}{migration_id}")


def is_shadow(group: str) -> bool:
    """Return whether this is the name of a group that only a migration reads unasked."""
    return _SHADOW.fullmatch(group) is not None


def final_group(group: GroupId) -> GroupId:
    """Return the group whose ids the data of a group has: itself unless it is a shadow group."""
    found = _SHADOW.fullmatch(group)
    return GroupId(found["group"]) if found else group
