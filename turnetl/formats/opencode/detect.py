"""Recognition of OpenCode's objects: an export, or a session, a message or a part."""

from collections.abc import Mapping
from typing import Any

from turnetl.formats.kit.probe import LazyObject

_SESSION_KEYS = ("title", "version", "projectID")
_SESSION = "ses_"
_MESSAGES = "messages"
_ROLES = ("user", "assistant")


def is_export(root: LazyObject) -> bool:
    """Recognise an export by its session, or by its first message.

    An export that is truncated within its messages has only the session.
    """
    info = root.object_at("info")
    if info is None:
        return False
    if _MESSAGES not in root:
        return len(root) == 1 and is_session(info)
    if is_session(info) or str(info.get("id")).startswith(_SESSION):
        return True
    first = root.object_at(_MESSAGES)
    if first is None or not isinstance(first.get("parts"), list):
        return False
    return _is_message_info(first.get("info"))


def is_session(row: Mapping[str, Any]) -> bool:
    """Recognise a session by its id or its project, by its time, and by another of its fields."""
    if not isinstance(row.get("id"), str) or "role" in row or "type" in row:
        return False
    identified = row["id"].startswith(_SESSION) or ("projectID" in row and "directory" in row)
    return identified and _has_time(row) and any(key in row for key in _SESSION_KEYS)


def is_message(row: Mapping[str, Any]) -> bool:
    """Recognise a message by its role, its time, and the session that it names."""
    if not isinstance(row.get("id"), str) or row.get("role") not in _ROLES:
        return False
    if isinstance(row.get("sessionID"), str):
        return _has_time(row)
    metadata = row.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(row.get("parts"), list):
        return False
    return isinstance(metadata.get("sessionID"), str) and _has_time(metadata)


def is_part(row: Mapping[str, Any]) -> bool:
    """Recognise a part by the message and the session that it names."""
    return all(isinstance(row.get(key), str) for key in ("id", "sessionID", "messageID", "type"))


def _is_message_info(info: object) -> bool:
    return isinstance(info, dict) and info.get("role") in _ROLES and _has_time(info)


def _has_time(row: Mapping[str, Any]) -> bool:
    time = row.get("time")
    return isinstance(time, dict) and "created" in time
