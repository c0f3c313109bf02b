"""The format of claude.ai/code exports: the rows of a Claude Code session as one document."""

from turnetl.formats.claude.rows import MESSAGE_TYPES, ROWS
from turnetl.formats.claude.turns import ClaudeReader
from turnetl.formats.kit.json_archives import parse_document, read_elements
from turnetl.formats.port import ParsedArchive, Probe

_ROWS = "loglines"


class ClaudeWeb:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by its list of Claude Code rows."""
        rows = probe.first.objects_at(_ROWS)
        return any(row.get("type") in MESSAGE_TYPES or "sessionId" in row for row in rows)

    def read(self, data: bytes) -> ParsedArchive:
        reader = ClaudeReader()
        read_elements(data, parse_document(data, _ROWS), ROWS, reader.read, reader.counts)
        return reader.finish()
