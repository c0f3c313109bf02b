"""Transcripts of Cursor CLI (`agent-transcripts/<id>/<id>.jsonl`), and chats of Cursor's editor.

Transcripts have no results of tools, and name no session. Only prompts of newer versions have a
time. A chat is in the editor's database: rows of its bubbles follow that of its composer.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import LineReader
from turnetl.formats.kit.message_parts import (
    at,
    elements,
    first_of,
    path_of_uri,
    text_of,
    texts_of,
    without_elements,
)
from turnetl.formats.kit.times import parse_timestamp


class CursorRow(
    msgspec.Struct,
    rename={
        "composer_id": "composerId",
        "model_name": "modelName",
        "parent_id": "parentComposerId",
        "is_orphan": "isOrphan",
        "bubble_id": "bubbleId",
        "created_at": "createdAt",
        "tool": "toolFormerData",
        "folders": "workspaceUris",
        "model_info": "modelInfo",
        "token_count": "tokenCount",
    },
):
    """A message, or the end of a turn; a composer, or a bubble of it."""

    role: str | None = None
    type: Any = None
    status: str | None = None
    message: dict[str, Any] = {}
    composer_id: str | None = None
    model_name: str | None = None
    parent_id: str | None = None
    is_orphan: int | None = None
    bubble_id: str | None = None
    created_at: Any = None
    text: str | None = None
    tool: dict[str, Any] | None = None
    folders: list[str] | None = None
    model_info: Any = None
    token_count: Any = None
    images: Any = None


_USER, _AGENT = 1, 2
"""Types of bubbles."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_time = re.compile(
    r"<timestamp>\s*\w+, (?P<month>[A-Z][a-z]{2})[a-z]* (?P<day>\d{1,2}), (?P<year>\d{4}),? "
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)\s*(?P<half>[AP])M"
    r"(?: \(UTC(?P<hours>[+-]\d{1,2})?(?::?(?P<minutes>\d\d))?\))?\s*</timestamp>"
).search
"""As in `<timestamp>Friday, Sep 4, 2026, 2:21 AM (UTC+8)</timestamp>`."""
_QUERY = "user_query"


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return whether a row has a role and a message alone, and the message a list `content`.

    A composer is known by its id.
    """
    if "composerId" in row and "bubbleId" not in row:
        return True
    if row.keys() != {"role", "message"} or row.get("role") not in ("user", "assistant"):
        return False
    message = row.get("message")
    is_message = isinstance(message, dict) and message.keys() == {"content"}
    return is_message and isinstance(at(message, "content"), list)


def _read(talk: Conversation, row: CursorRow) -> SkipReason | None:
    if row.bubble_id is not None:
        return _bubble(talk, row)
    if row.composer_id is not None:
        talk.started_by = row.parent_id
        talk.is_subagent = row.parent_id is not None
        return talk.describe(row.composer_id, model=row.model_name)
    if row.type == "turn_ended":
        return talk.interrupt() if row.status in ("error", "aborted") else SkipReason.EVENT
    content = row.message.get("content")
    if row.role != "user":
        return talk.content(row.role, content, words=_said)
    parts = content if isinstance(content, list) else [content]
    times = filter(None, map(_written_time, texts_of(parts)))
    talk.time = next(times, None)
    return talk.content("user", content, words=_typed)


def _bubble(talk: Conversation, row: CursorRow) -> SkipReason | None:
    """Read a prompt, a text of the agent or a call, unless the composer does not list it."""
    if row.is_orphan:
        return SkipReason.ORPHAN
    if talk.is_subagent:
        return talk.sidechain(lambda run: _bubble(run, row))
    talk.time = parse_timestamp(row.created_at)
    folder = path_of_uri(row.folders[0]) if row.folders else None
    talk.describe(cwd=folder, model=at(row.model_info, "modelName"))
    if row.type == _USER:
        return talk.prompt(row.text or ("[image]" if row.images else None), row.bubble_id)
    if row.type != _AGENT:
        return SkipReason.OTHER
    tool = row.tool or {}
    name = text_of(tool.get("name"))
    if name is None:
        return talk.answer(row.text)
    arguments = text_of(tool.get("rawArgs")) or tool.get("params")
    output = tool.get("error") or tool.get("result")
    is_error = tool.get("status") == "error"
    called = talk.call(name, arguments, row.bubble_id)
    return first_of(
        [called, talk.result(row.bubble_id, output, is_error=is_error), talk.answer(row.text)]
    )


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
    is_own = without_elements(text, lambda tag: tag == "rules" or "_" in tag)
    return text if is_own else ""


def _said(text: str) -> str:
    """Return what the agent wrote, without what stands for its reasoning."""
    return text.strip().removesuffix("[REDACTED]").rstrip()


CURSOR_CLI = LineReader(
    CursorRow,
    (("role", "message"), ("composerId", "createdAt"), ("bubbleId",)),
    _is_row,
    _read,
)
