"""Rows of Codex rollouts, as its versions write them."""

import json
from collections.abc import Iterable
from itertools import count
from typing import Any
from uuid import UUID

from turnetl.formats.codex import Codex
from turnetl.formats.port import ParsedArchive

Row = tuple[str, dict[str, Any]]
"""A row's type and its payload."""


def rollout(*rows: Row) -> ParsedArchive:
    """Parse rows, each on a line of its own and one second after the one before."""
    return Codex().read(lines(rows))


def lines(rows: Iterable[Row]) -> bytes:
    times = (f"2026-03-02T09:{second // 60:02}:{second % 60:02}Z" for second in count())
    envelopes = (
        {"timestamp": time, "type": kind, "payload": payload}
        for time, (kind, payload) in zip(times, rows, strict=False)
    )
    return "\n".join(map(json.dumps, envelopes)).encode()


def turn_id(number: int) -> str:
    """Return a globally unique id that holds no time."""
    return str(UUID(int=number + (4 << 76) + (2 << 62)))


def event(kind: str, **fields: Any) -> Row:
    return "event_msg", {"type": kind} | fields


def started(number: int) -> Row:
    return event("task_started", turn_id=turn_id(number))


def ended(number: int) -> Row:
    return event("task_complete", turn_id=turn_id(number))


def completed(item: dict[str, Any], number: int) -> Row:
    return event("item_completed", turn_id=turn_id(number), item=item)


def response(**item: Any) -> Row:
    return "response_item", item


def message(role: str, *texts: str) -> Row:
    kind = "input_text" if role == "user" else "output_text"
    parts = [{"type": kind, "text": text} for text in texts]
    return response(type="message", role=role, content=parts)


def prompt(kind: str, text: str, number: int) -> Row:
    """Return a row of this kind that holds a prompt: `event`, `item` or `message`."""
    content = [{"type": "text", "text": text, "text_elements": []}]
    if kind == "item":
        return completed({"type": "UserMessage", "id": "u", "content": content}, number)
    return event("user_message", message=text) if kind == "event" else message("user", text)


def answer(kind: str, text: str, number: int) -> Row:
    """Return a row of this kind that holds the agent's text: `event`, `item` or `message`."""
    content = [{"type": "Text", "text": text}]
    if kind == "item":
        return completed({"type": "AgentMessage", "id": "a", "content": content}, number)
    return event("agent_message", message=text) if kind == "event" else message("assistant", text)
