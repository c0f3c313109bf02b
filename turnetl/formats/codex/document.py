"""The rollouts of the first Codex CLI, written in TypeScript: one document a session.

That CLI wrote the whole session anew under a new name and a new id whenever it went on: the id says
nothing. What stays the same is how the session begins.
"""

from turnetl.formats.base import ParsedArchive, Probe, moment
from turnetl.formats.codex.rows import ROWS
from turnetl.formats.codex.turns import Prompts, Reader
from turnetl.formats.kit.documents import Document, document, read_elements
from turnetl.formats.kit.sessions import derived

_ITEMS = "items"


class CodexDocument:
    name = "codex_json"
    title = "rollouts of the first Codex CLI (JSON)"
    version = 2

    def sniff(self, opening: Probe) -> bool:
        """Know the archive by its session and its items."""
        session, items = opening.first.get("session"), opening.first.get(_ITEMS)
        if not isinstance(session, dict) or not {"id", "timestamp"} <= session.keys():
            return False
        return isinstance(items, list) and all(_is_item(item) for item in items[:1])

    def read(self, data: bytes) -> ParsedArchive:
        parts = document(data, _ITEMS)
        reader = Reader(Prompts.MESSAGES)
        session = ROWS.read(parts.fields.get("session", b""))
        reader.talk.sessions.start = moment(session.timestamp) if session is not None else None
        read_elements(data, parts, ROWS, reader.take, reader.counts)
        reader.talk.sessions.own = _name(parts, reader)
        return reader.reading()


def _is_item(item: object) -> bool:
    return isinstance(item, dict) and isinstance(item.get("type"), str)


def _name(parts: Document, reader: Reader) -> str | None:
    """Return a name made of the first prompt and the first id that the model's server gave."""
    rows = (ROWS.read(raw) for _, raw in parts.elements)
    first = next((row.id for row in rows if row is not None and row.id is not None), "")
    turn = next(iter(reader.talk.turns), None)
    return derived(turn.user_text, first) if turn is not None else None
