"""The rollouts of the first Codex CLI, written in TypeScript: one document a session.

That CLI wrote the whole session anew under a new name and a new id whenever it went on: the id says
nothing. What stays the same is how the session begins.
"""

from turnetl.formats.base import ParsedArchive, Probe, parse_time
from turnetl.formats.codex.rows import ROWS
from turnetl.formats.codex.turns import Prompts, Reader
from turnetl.formats.kit.documents import JsonDocument, parse_document, read_elements
from turnetl.formats.kit.session_ids import derived_session_id

_ITEMS = "items"


class CodexDocument:
    name = "codex_json"
    title = "rollouts of the first Codex CLI (JSON)"
    version = 2

    def sniff(self, probe: Probe) -> bool:
        """Know the archive by its session and its items."""
        session, items = probe.first.get("session"), probe.first.get(_ITEMS)
        if not isinstance(session, dict) or not {"id", "timestamp"} <= session.keys():
            return False
        return isinstance(items, list) and all(_is_item(item) for item in items[:1])

    def read(self, data: bytes) -> ParsedArchive:
        parts = parse_document(data, _ITEMS)
        reader = Reader(Prompts.MESSAGES)
        session = ROWS.decode(parts.fields.get("session", b""))
        reader.talk.sessions.start = parse_time(session.timestamp) if session is not None else None
        read_elements(data, parts, ROWS, reader.take, reader.counts)
        reader.talk.sessions.own = _name(parts, reader)
        return reader.reading()


def _is_item(item: object) -> bool:
    return isinstance(item, dict) and isinstance(item.get("type"), str)


def _name(parts: JsonDocument, reader: Reader) -> str | None:
    """Return a name made of the first prompt and the first id that the model's server gave."""
    rows = (ROWS.decode(raw) for _, raw in parts.elements)
    first = next((row.id for row in rows if row is not None and row.id is not None), "")
    turn = next(iter(reader.talk.turns), None)
    return derived_session_id(turn.user_text, first) if turn is not None else None
