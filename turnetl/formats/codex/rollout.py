"""Codex's rollouts: session JSONL of all versions, in the envelope or bare.

A turn starts at an event that says what a person wrote and runs to the next one. Rollouts without
such events are told by the words themselves.
"""

from collections.abc import Mapping
from typing import Any

from turnetl.formats.base import ParsedArchive, Probe
from turnetl.formats.codex.rows import ROWS
from turnetl.formats.codex.turns import Prompts, Reader
from turnetl.formats.kit.jsonl import read_lines

_TYPED = ("response_item", "event_msg")
_ABOUT = {
    "session_meta": ("id", "cwd", "cli_version", "originator"),
    "turn_context": ("cwd", "model", "approval_policy"),
    "compacted": ("message", "replacement_history"),
}
_STATE = {"record_type"}
_NAMED = {"id", "timestamp"}


class Codex:
    name = "codex"
    title = "Codex CLI rollouts, with and without the envelope (JSONL)"
    version = 2

    def sniff(self, probe: Probe) -> bool:
        """Know the archive by the first row that is one of Codex's, or by how it begins."""
        return _is_header(probe.first) or any(map(_is_row, probe.rows))

    def read(self, data: bytes) -> ParsedArchive:
        reader = Reader(Prompts.of(data))
        read_lines(data, ROWS, reader.take, reader.counts)
        return reader.reading()


def _is_header(row: Mapping[str, Any]) -> bool:
    """Say whether a row is what stood before bare items."""
    named = isinstance(row.get("id"), str) and isinstance(row.get("timestamp"), str)
    if not named or "type" in row:
        return False
    return "instructions" in row or "git" in row or set(row) == _NAMED


def _is_row(row: Mapping[str, Any]) -> bool:
    return _is_envelope(row) if "payload" in row else set(row) == _STATE


def _is_envelope(row: Mapping[str, Any]) -> bool:
    kind, payload = row.get("type"), row.get("payload")
    if not isinstance(kind, str) or not isinstance(payload, dict):
        return False
    if kind in _TYPED:
        return isinstance(payload.get("type"), str)
    return any(name in payload for name in _ABOUT.get(kind, ()))
