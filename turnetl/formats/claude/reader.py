"""Readers of Claude Code: session JSONL of versions 1.0 to 2.1, and exports from claude.ai/code.

A turn starts at a row of role user that a user wrote, and ends before the next one of the same
session. An export holds the rows of a session as one document.
"""

from turnetl.formats.claude.rows import MESSAGE_TYPES, ROWS, is_foreign, is_message, is_other_row
from turnetl.formats.claude.turns import ClaudeReader
from turnetl.formats.kit.json_archives import parse_document, read_elements, read_lines
from turnetl.formats.port import ParsedArchive, Probe


class ClaudeCode:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by a message, else by any other row that only Claude Code writes.

        Rows without a message are no proof beside those of another tool with the same fields.
        """
        has_row = False
        for row in probe.rows:
            if is_foreign(row):
                return False
            if is_message(row):
                return True
            has_row = has_row or is_other_row(row)
        return has_row

    def read(self, data: bytes) -> ParsedArchive:
        reader = ClaudeReader()
        read_lines(data, ROWS, reader.read, reader.counts)
        return reader.finish()


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
