"""The format of Codex CLI's `history.jsonl`: every prompt that was typed, without responses.

It outlives the rollouts. A prompt that a rollout also holds is recognised in
`episodes.partitions`, if both are in one group: the history names no project.
"""

import re

import msgspec

from turnetl.base import ids
from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import read_conversation
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.port import ParsedArchive, Probe


class CodexHistoryRow(msgspec.Struct, gc=False):
    """A prompt. `ts` is in seconds."""

    session_id: str | None = None
    ts: int | float | None = None
    text: str | None = None


_ROWS = RowDecoder(CodexHistoryRow, Envelope(own=(("session_id", "ts", "text"),)))
_KEYS = {"session_id", "ts", "text"}
_LOCAL = re.compile(
    r"/(?:agent|apps|approvals|clear|clean|collab|compact|copy|debug-config|diff|exit|experimental"
    r"|fast|feedback|fork|help|ide|keymap|logout|mcp|memories|mention|model|new|permissions"
    r"|personality|plugins|ps|quit|rename|resume|rollout|sandbox|settings|side|skills|status"
    r"|statusline|stop|theme|title|undo|usage|vim)(?:\s|\Z)"
)


class CodexHistory:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by a row of session, time and text, and nothing else."""
        return any(
            row.keys() == _KEYS
            and isinstance(row.get("text"), str)
            and isinstance(row.get("ts"), int | float)
            for row in probe.rows
        )

    def read(self, data: bytes) -> ParsedArchive:
        return read_conversation(data, _ROWS, _read)


def _read(talk: Conversation, row: CodexHistoryRow) -> SkipReason | None:
    text = (row.text or "").strip()
    if text.startswith("!"):
        return SkipReason.SHELL_COMMAND
    if _LOCAL.match(text):
        return SkipReason.LOCAL_COMMAND
    talk.time = parse_timestamp(row.ts)
    talk.start(row.session_id)
    return talk.prompt(text, native_id=f"{row.session_id}:{row.ts}:{ids.digest(text)[:16]}")
