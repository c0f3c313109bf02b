"""Gemini CLI's sessions on disk: one document until 0.39, lines that only grow since 0.40."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from turnetl.formats.base import ParseCounts, ParsedArchive, Probe, SourceSpan
from turnetl.formats.gemini.history import History
from turnetl.formats.gemini.rows import KINDS, ROWS, Row, Update
from turnetl.formats.gemini.turns import Reader
from turnetl.formats.kit.documents import parse_document, read_elements
from turnetl.formats.kit.jsonl import read_lines
from turnetl.formats.kit.session_ids import assign_session_ids
from turnetl.skip_reasons import SkipReason

_MESSAGES = "messages"
_OF_ITSELF = ("sessionId", "kind", "directories")
_CHANGED = ("lastUpdated", "messages", "sessionId", "summary", "directories")
_SPOKEN_WITH = ("model", "tokens", "thoughts", "toolCalls")
_OF_A_MODEL = ("content", "parts", "toolCalls", "thoughts", "tokens")


class GeminiJson:
    name = "gemini_json"
    title = "Gemini CLI sessions up to 0.39 (JSON)"
    version = 2

    def sniff(self, probe: Probe) -> bool:
        """Know the archive by its head and the messages in it; one cut off by its head alone."""
        head = probe.first
        if len(probe.rows) != 1 or not isinstance(head.get("sessionId"), str):
            return False
        if _MESSAGES not in head:
            return _is_head(head)
        first = head.object_at(_MESSAGES)
        if first is None:
            return _is_head(head) and head[_MESSAGES] == []
        known = first.get("type") in KINDS and isinstance(first.get("id"), str)
        return known and not any(map(_is_of_another, head.objects_at(_MESSAGES)))

    def read(self, data: bytes) -> ParsedArchive:
        parts = parse_document(data, _MESSAGES)
        rows, counts = _Rows(), ParseCounts()
        read_elements(data, parts, ROWS, rows.take, counts)
        history = History()
        if (head := _head(parts.fields)) is not None:
            history.know(Update(head.session_id, head.kind, head.directories))
        return _reading(rows, history, counts)


class GeminiJsonl:
    name = "gemini_jsonl"
    title = "Gemini CLI sessions since 0.40 (JSONL)"
    version = 2

    def sniff(self, probe: Probe) -> bool:
        """Know the archive by a session's head, or a line that only Gemini CLI writes."""
        return any(map(_is_line, probe.rows))

    def read(self, data: bytes) -> ParsedArchive:
        rows, counts = _Rows(), ParseCounts()
        read_lines(data, ROWS, rows.take, counts)
        return _reading(rows, History(), counts, grows=True)


@dataclass(slots=True)
class _Rows:
    """All rows of an archive.

    Whether a row is used is known only when all rows are read. Until then its lines count as used.
    """

    rows: list[tuple[Row, SourceSpan]] = field(default_factory=list)

    def take(self, row: Row, place: SourceSpan) -> None:
        self.rows.append((row, place))

    def settle(self, counts: ParseCounts, reasons: Mapping[int, SkipReason | None]) -> None:
        """Recount the lines of rows that are not used; of several rows on a line one suffices."""
        by_start: dict[int, tuple[SourceSpan, list[SkipReason | None]]] = {}
        for number, (_, place) in enumerate(self.rows):
            by_start.setdefault(place.start, (place, []))[1].append(reasons[number])
        for place, found in by_start.values():
            if None not in found and found[0] is not None and place.lines:
                counts.used -= place.lines
                counts.skipped[found[0]] += place.lines


def _reading(
    rows: _Rows, history: History, counts: ParseCounts, *, grows: bool = False
) -> ParsedArchive:
    """Make the turns of all rows; `grows`: the archive is written line by line."""
    for number, (row, place) in enumerate(rows.rows):
        history.take(number, row, place)
    if grows:
        history.finish()
    reader = Reader(history.note, counts)
    for message in history.messages:
        reader.take(message)
    rows.settle(counts, history.reasons)
    counts.turns = len(reader.turns)
    for turn in reader.turns:
        turn.cwd = history.folders.get(turn.session_id)
    assign_session_ids(reader.turns, None)
    return ParsedArchive(reader.turns, counts, next(iter(history.folders.values()), None))


def _head(fields: Mapping[str, bytes]) -> Row | None:
    """Return what stands in a document beside its messages and is used."""
    pairs = [f'"{name}":'.encode() + fields[name] for name in _OF_ITSELF if name in fields]
    head = b"{" + b",".join(pairs) + b"}"
    return ROWS.decode_first(head)


def _is_head(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("sessionId"), str) and isinstance(row.get("projectHash"), str)


def _is_of_another(message: Mapping[str, Any]) -> bool:
    """Say whether a model speaks under another name: tools made from Gemini CLI have their own."""
    return message.get("type") not in KINDS and any(name in message for name in _SPOKEN_WITH)


def _is_line(row: Mapping[str, Any]) -> bool:
    if "type" not in row:
        return (_is_head(row) and _MESSAGES not in row) or (len(row) == 1 and _is_change(row))
    if not isinstance(row.get("id"), str) or row.get("type") != "gemini":
        return False
    return any(name in row for name in _OF_A_MODEL)


def _is_change(row: Mapping[str, Any]) -> bool:
    update = row.get("$set")
    if isinstance(update, dict):
        return any(name in update for name in _CHANGED)
    return isinstance(row.get("$rewindTo"), str)
