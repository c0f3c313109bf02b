"""The format of Codex rollouts: session JSONL of all versions, with or without the envelope.

A turn starts at a prompt and ends before the next one. Which row holds a prompt is decided row by
row: see `prompts`.
"""

from collections.abc import Mapping
from typing import Any

from turnetl.formats.codex.rows import ROWS
from turnetl.formats.codex.turns import CodexReader
from turnetl.formats.kit.json_archives import read_lines
from turnetl.formats.port import ParsedArchive, Probe

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
