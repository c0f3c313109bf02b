"""Claude Code's session JSONL, 1.0 to 2.1.

A turn starts at a row of role user that a person wrote and runs to the next one of the same
conversation.
"""

from turnetl.formats.base import Reading, lines
from turnetl.formats.claude_rows import Row, mend, read
from turnetl.formats.claude_turns import SPEAKING, Reader

_SIGNS = ("queue-operation", "progress", "file-history-snapshot", "summary", "system")


class ClaudeCode:
    name = "claude_code"
    version = 1

    def sniff(self, head: bytes) -> bool:
        """Know the archive by the first row that is one of Claude Code's."""
        rows = (row for _, _, line in lines(head) for row in _rows(line))
        return any(_is_sign(row) for row in rows)

    def read(self, data: bytes) -> Reading:
        reader = Reader()
        for number, start, line in lines(data):
            reader.line(number, start, line)
        return reader.reading()


def _is_sign(row: Row) -> bool:
    known = row.session_id or row.uuid or row.parent_uuid or row.leaf_uuid or row.message_id
    if row.type in SPEAKING:
        return known is not None and row.message is not None and row.message.content is not None
    return known is not None and row.type in _SIGNS


def _rows(line: bytes) -> list[Row]:
    row = read(line)
    return [row] if row is not None else mend(line)[0]
