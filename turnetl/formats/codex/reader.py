"""Readers of Codex CLI: rollouts as session JSONL, with or without the envelope, and as documents.

A turn starts at a prompt and ends before the next one. Which row holds a prompt is decided row by
row: see `prompts`.

The first Codex CLI, written in TypeScript, wrote one document per session, under a new name and a
new id whenever the session was resumed. That id therefore identifies nothing; the start of the
session does.
"""

from collections.abc import Mapping
from typing import Any

from turnetl.formats.codex.rows import ROWS
from turnetl.formats.codex.turns import CodexReader
from turnetl.formats.kit.json_archives import (
    JsonDocument,
    parse_document,
    read_elements,
    read_lines,
)
from turnetl.formats.kit.turn_builder import derived_session_id
from turnetl.formats.port import ParsedArchive, Probe, parse_time

_WITH_TYPE = ("response_item", "event_msg")
_KEYS = {
    "session_meta": ("id", "cwd", "cli_version", "originator"),
    "turn_context": ("cwd", "model", "approval_policy"),
    "compacted": ("message", "replacement_history"),
}
"""Keys of the payload, by the row's type; one of them suffices."""
_STATE = {"record_type"}
_HEADER = {"id", "timestamp"}


class Codex:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by its header, or by any row that only Codex writes."""
        return _is_header(probe.first) or any(map(_is_row, probe.rows))

    def read(self, data: bytes) -> ParsedArchive:
        reader = CodexReader()
        read_lines(data, ROWS, reader.read, reader.counts)
        return reader.finish()


def _is_header(row: Mapping[str, Any]) -> bool:
    """Return whether a row is the header of a rollout without the envelope."""
    has_ids = isinstance(row.get("id"), str) and isinstance(row.get("timestamp"), str)
    if not has_ids or "type" in row:
        return False
    return "instructions" in row or "git" in row or set(row) == _HEADER


def _is_row(row: Mapping[str, Any]) -> bool:
    return _is_envelope(row) if "payload" in row else set(row) == _STATE


def _is_envelope(row: Mapping[str, Any]) -> bool:
    kind, payload = row.get("type"), row.get("payload")
    if not isinstance(kind, str) or not isinstance(payload, dict):
        return False
    if kind in _WITH_TYPE:
        return isinstance(payload.get("type"), str)
    return any(key in payload for key in _KEYS.get(kind, ()))


_ITEMS = "items"


class CodexDocument:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by its session and its items."""
        session, item = probe.first.get("session"), probe.first.object_at(_ITEMS)
        if not isinstance(session, dict) or not {"id", "timestamp"} <= session.keys():
            return False
        return isinstance(item.get("type"), str) if item else probe.first.get(_ITEMS) == []

    def read(self, data: bytes) -> ParsedArchive:
        document = parse_document(data, _ITEMS)
        reader = CodexReader()
        sessions = reader.conversation.sessions
        session = ROWS.decode(document.fields.get("session", b""))
        sessions.start = parse_time(session.timestamp) if session is not None else None
        read_elements(data, document, ROWS, reader.read, reader.counts)
        sessions.own = _session_id(document, reader)
        return reader.finish()


def _session_id(document: JsonDocument, reader: CodexReader) -> str | None:
    """Return an id derived from the first prompt and the first id that the model's server gave."""
    rows = (ROWS.decode(raw) for _, raw in document.elements)
    first = next((row.id for row in rows if row is not None and row.id is not None), "")
    turn = next(iter(reader.conversation.builder.turns), None)
    return derived_session_id(turn.user_text, first) if turn is not None else None
