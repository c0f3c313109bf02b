"""What tells that an object is OpenCode's: an export, or a session, a message, a part of one."""

from collections.abc import Mapping
from typing import Any

from turnetl.formats.kit.probe import LazyObject

_SAID = ("title", "version", "projectID")
_SESSION = "ses_"
_MESSAGES = "messages"
_ROLES = ("user", "assistant")


def is_export(root: LazyObject) -> bool:
    """Know an export by the session that it begins with, or by its first message.

    One that is cut off within its messages is no more than the session.
    """
    info = root.object_at("info")
    if info is None:
        return False
    if _MESSAGES not in root:
        return len(root) == 1 and is_session(info)
    if is_session(info) or str(info.get("id")).startswith(_SESSION):
        return True
    first = root.object_at(_MESSAGES)
    return first is not None and isinstance(first.get("parts"), list) and _speaks(first.get("info"))


def is_session(row: Mapping[str, Any]) -> bool:
    """Know a session by its id or by its project, and by its time and what else it says."""
    if not isinstance(row.get("id"), str) or "role" in row or "type" in row:
        return False
    named = row["id"].startswith(_SESSION) or ("projectID" in row and "directory" in row)
    return named and _has_time(row) and any(key in row for key in _SAID)


def is_message(row: Mapping[str, Any]) -> bool:
    """Know a message by its role, its time, and the session that it names."""
    if not isinstance(row.get("id"), str) or row.get("role") not in _ROLES:
        return False
    if isinstance(row.get("sessionID"), str):
        return _has_time(row)
    said = row.get("metadata")
    if not isinstance(said, dict) or not isinstance(row.get("parts"), list):
        return False
    return isinstance(said.get("sessionID"), str) and _has_time(said)


def is_part(row: Mapping[str, Any]) -> bool:
    """Know a part by the message and the session that it names."""
    return all(isinstance(row.get(key), str) for key in ("id", "sessionID", "messageID", "type"))


def _speaks(info: object) -> bool:
    return isinstance(info, dict) and info.get("role") in _ROLES and _has_time(info)


def _has_time(row: Mapping[str, Any]) -> bool:
    time = row.get("time")
    return isinstance(time, dict) and "created" in time
