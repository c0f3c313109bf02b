"""The format of the first Codex CLI, written in TypeScript: one document per session.

That CLI wrote the whole session under a new name and a new id whenever it was resumed. The id
therefore identifies nothing; the start of the session does.
"""

from turnetl.formats.codex.rows import ROWS
from turnetl.formats.codex.turns import CodexReader
from turnetl.formats.kit.json_archives import JsonDocument, parse_document, read_elements
from turnetl.formats.kit.turn_builder import derived_session_id
from turnetl.formats.port import ParsedArchive, Probe, parse_time

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
