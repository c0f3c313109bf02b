"""Transcripts of Cursor's command line: `agent-transcripts/<id>/<id>.jsonl`.

They have no results of tools, and name no session. Only prompts of newer versions have a time.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import LineReader
from turnetl.formats.kit.message_parts import at, elements, texts_of, without_elements


class CursorRow(msgspec.Struct):
    """A message, or the end of a turn."""

    role: str | None = None
    type: str | None = None
    status: str | None = None
    message: dict[str, Any] = {}


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_time = re.compile(
    r"<timestamp>\s*\w+, (?P<month>[A-Z][a-z]{2})[a-z]* (?P<day>\d{1,2}), (?P<year>\d{4}),? "
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)\s*(?P<half>[AP])M"
    r"(?: \(UTC(?P<hours>[+-]\d{1,2})?(?::?(?P<minutes>\d\d))?\))?\s*</timestamp>"
).search
"""As in `<timestamp>Friday, Sep 4, 2026, 2:21 AM (UTC+8)</timestamp>`."""
_QUERY = "user_query"


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return whether a row has a role and a message alone, and the message a list `content`."""
    if row.keys() != {"role", "message"} or row.get("role") not in ("user", "assistant"):
        return False
    message = row.get("message")
    is_message = isinstance(message, dict) and message.keys() == {"content"}
    return is_message and isinstance(at(message, "content"), list)


def _read(talk: Conversation, row: CursorRow) -> SkipReason | None:
    if row.type == "turn_ended":
        return talk.interrupt() if row.status in ("error", "aborted") else SkipReason.EVENT
    content = row.message.get("content")
    if row.role != "user":
        return talk.content(row.role, content, words=_said)
    parts = content if isinstance(content, list) else [content]
    times = filter(None, map(_written_time, texts_of(parts)))
    talk.time = next(times, None)
    return talk.content("user", content, words=_typed)


def _written_time(text: str) -> datetime | None:
    """Return the time that Cursor writes into a prompt; without a time zone, it is UTC."""
    if (found := _time(text)) is None or found["month"] not in _MONTHS:
        return None
    offset = int(found["hours"] or 0)
    minutes = int(found["minutes"] or 0)
    zone = timedelta(hours=offset, minutes=-minutes if offset < 0 else minutes)
    try:
        local = datetime(
            int(found["year"]),
            _MONTHS.index(found["month"]) + 1,
            int(found["day"]),
            int(found["hour"]) % 12 + 12 * (found["half"] == "P"),
            int(found["minute"]),
            tzinfo=timezone(zone),
        )
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _typed(text: str) -> str:
    """Return what the user wrote: Cursor adds files, rules and the state of the editor."""
    if queries := [one.text for one in elements(text, _QUERY.__eq__)]:
        return "\n\n".join(queries)
    return text if without_elements(text, _is_context) else ""


def _is_context(tag: str) -> bool:
    return tag == "rules" or "_" in tag


def _said(text: str) -> str:
    """Return what the agent wrote, without what stands for its reasoning."""
    return text.strip().removesuffix("[REDACTED]").rstrip()


CURSOR_CLI = LineReader(CursorRow, (("role", "message"),), _is_row, _read)
