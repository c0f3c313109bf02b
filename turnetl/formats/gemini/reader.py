"""The formats of Gemini CLI's session files: a document until 0.39, appended lines since 0.40."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from turnetl.base.reason import SkipReason
from turnetl.formats.gemini.history import GeminiHistory
from turnetl.formats.gemini.rows import MESSAGE_TYPES, ROWS, GeminiRow, SessionUpdate
from turnetl.formats.gemini.turns import GeminiReader
from turnetl.formats.kit.counts import MAX_ROWS, TooManyRows
from turnetl.formats.kit.json_archives import parse_document, read_elements, read_lines
from turnetl.formats.kit.turn_builder import TurnBuilder
from turnetl.formats.port import ParseCounts, ParsedArchive, Probe, SourceSpan

_MESSAGES = "messages"
_HEADER = ("sessionId", "kind", "directories")
_UPDATED = ("lastUpdated", "messages", "sessionId", "summary", "directories")
_MODEL_KEYS = ("model", "tokens", "thoughts", "toolCalls")
_MODEL_LINE_KEYS = ("content", "parts", "toolCalls", "thoughts", "tokens")


class GeminiJson:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by its header and its messages; a truncated one by its header."""
        root = probe.first
        if len(probe.rows) != 1 or not isinstance(root.get("sessionId"), str):
            return False
        if _MESSAGES not in root:
            return _is_header(root)
        first = root.object_at(_MESSAGES)
        if first is None:
            return _is_header(root) and root[_MESSAGES] == []
        known = first.get("type") in MESSAGE_TYPES and isinstance(first.get("id"), str)
        return known and not any(map(_is_from_other_tool, root.objects_at(_MESSAGES)))

    def read(self, data: bytes) -> ParsedArchive:
        document = parse_document(data, _MESSAGES)
        rows, counts = CollectedRows(), ParseCounts()
        read_elements(data, document, ROWS, rows.add, counts)
        history = GeminiHistory()
        if (header := _header(document.fields)) is not None:
            history.update(SessionUpdate(header.session_id, header.kind, header.directories))
        return _build(rows, history, counts)


class GeminiJsonl:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by a session's header, or by a line that only Gemini CLI writes."""
        return any(map(_is_line, probe.rows))

    def read(self, data: bytes) -> ParsedArchive:
        rows, counts = CollectedRows(), ParseCounts()
        read_lines(data, ROWS, rows.add, counts)
        return _build(rows, GeminiHistory(), counts, is_appended=True)


@dataclass(slots=True)
class CollectedRows:
    """All rows of an archive.

    Whether a row is used is known only when all rows are read. Until then its lines count as used.
    """

    rows: list[tuple[GeminiRow, SourceSpan]] = field(default_factory=list)

    def add(self, row: GeminiRow, span: SourceSpan) -> None:
        if len(self.rows) == MAX_ROWS:
            raise TooManyRows
        self.rows.append((row, span))

    def recount(self, counts: ParseCounts, reasons: Mapping[int, SkipReason | None]) -> None:
        """Recount the lines of unused rows. A line is used if any row on it is used."""
        by_line: dict[int, list[tuple[int, SkipReason | None]]] = {}
        for number, (_, span) in enumerate(self.rows):
            by_line.setdefault(span.line, []).append((span.lines, reasons[number]))
        for on_line in by_line.values():
            reason = next((reason for _, reason in on_line), None)
            if all(reason is not None for _, reason in on_line):
                counts.recount(None, reason, sum(lines for lines, _ in on_line))


def _build(
    rows: CollectedRows, history: GeminiHistory, counts: ParseCounts, *, is_appended: bool = False
) -> ParsedArchive:
    """Build the turns of all rows; `is_appended`: the archive is written line by line."""
    for number, (row, span) in enumerate(rows.rows):
        history.read(number, row, span)
    if is_appended:
        history.finish()
    reader = GeminiReader(history.set_reason, TurnBuilder(counts))
    for message in history.messages:
        reader.read(message)
    rows.recount(counts, history.reasons)
    for turn in reader.builder.turns:
        turn.cwd = history.folders.get(turn.session_id)
    return reader.builder.finish(None, next(iter(history.folders.values()), None))


def _header(fields: Mapping[str, bytes]) -> GeminiRow | None:
    """Return the used fields of a document beside its messages."""
    pairs = [f'"{name}":'.encode() + fields[name] for name in _HEADER if name in fields]
    return ROWS.decode_first(b"{" + b",".join(pairs) + b"}")


def _is_header(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("sessionId"), str) and isinstance(row.get("projectHash"), str)


def _is_from_other_tool(message: Mapping[str, Any]) -> bool:
    """Return whether a model's message has another type: forks of Gemini CLI use their own."""
    return message.get("type") not in MESSAGE_TYPES and any(key in message for key in _MODEL_KEYS)


def _is_line(row: Mapping[str, Any]) -> bool:
    if "type" not in row:
        return (_is_header(row) and _MESSAGES not in row) or (len(row) == 1 and _is_change(row))
    if not isinstance(row.get("id"), str) or row.get("type") != "gemini":
        return False
    return any(key in row for key in _MODEL_LINE_KEYS)


def _is_change(row: Mapping[str, Any]) -> bool:
    update = row.get("$set")
    if isinstance(update, dict):
        return any(key in update for key in _UPDATED)
    return isinstance(row.get("$rewindTo"), str)
