"""The format of Claude Code's `history.jsonl`: every prompt that was typed, without responses.

It outlives the transcripts, which Claude Code deletes. A prompt that a transcript also holds is
recognised in `episodes.partitions`.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from turnetl.base import ids
from turnetl.base.reason import SkipReason
from turnetl.formats.claude import machine_text
from turnetl.formats.kit.json_archives import read_lines
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.turn_builder import TurnBuilder, derived_session_id
from turnetl.formats.port import ParsedArchive, Probe, RawTurn, SourceSpan

_PASTED = re.compile(
    r"\[(?:Pasted text|\.\.\.Truncated text) #(\d{1,9})(?: \+\d+ lines)?(?:\.\.\.)?\]"
)
_COMMAND = re.compile(r"/([a-z][a-z-]*)(?:\s|\Z)")


class HistoryRow(msgspec.Struct, rename="camel", gc=False):
    """A line. A field of another type counts as missing."""

    display: str | None = None
    pasted_contents: Any = None
    timestamp: int | float | None = None
    project: str | None = None
    session_id: str | None = None


HISTORY_ROWS = RowDecoder(HistoryRow, Envelope(own=(("display", "timestamp", "project"),)))


class ClaudeHistory:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by any row that only the history of prompts has."""
        return any(map(_is_prompt, probe.rows))

    def read(self, data: bytes) -> ParsedArchive:
        reader = _HistoryReader()
        read_lines(data, HISTORY_ROWS, reader.read, reader.builder.counts)
        _uncount_blank_lines(reader.builder)
        return reader.builder.finish(None, reader.cwd)


def _is_prompt(row: Mapping[str, Any]) -> bool:
    return (
        isinstance(row.get("display"), str)
        and isinstance(row.get("timestamp"), int | float)
        and isinstance(row.get("project"), str)
        and "pastedContents" in row
        and "type" not in row
    )


def _uncount_blank_lines(builder: TurnBuilder) -> None:
    """Leave blank lines out: they are in place of the prompts of other projects."""
    counts = builder.counts
    counts.lines -= counts.skipped.pop(SkipReason.BLANK, 0)
    counts.blank_lines = 0


class _HistoryReader:
    def __init__(self) -> None:
        self.builder = TurnBuilder()
        self.cwd: str | None = None
        self._seen: set[str] = set()
        self._last: dict[str, RawTurn] = {}

    def read(self, row: HistoryRow, span: SourceSpan) -> SkipReason | None:
        self.cwd = self.cwd or row.project
        if row.display is None:
            return SkipReason.OTHER
        text = machine_text.without_context(_with_pasted(row.display, row.pasted_contents)).strip()
        if (reason := _skip_reason(text)) is not None:
            return reason
        time = parse_timestamp(row.timestamp)
        session = row.session_id or _derived_session(row.project, time)
        native = f"{session}:{row.timestamp}:{ids.digest(row.display)[:16]}"
        if native in self._seen:
            return SkipReason.DUPLICATE
        self._seen.add(native)
        turn = self.builder.open(
            text,
            span,
            time,
            session=session,
            native_id=native,
            previous=self._last.get(session),
        )
        turn.cwd = row.project
        self._last[session] = turn
        return None


def _skip_reason(text: str) -> SkipReason | None:
    if not text:
        return SkipReason.NO_TEXT
    if text.startswith("!"):
        return SkipReason.SHELL_COMMAND
    command = _COMMAND.match(text)
    if command is not None and command[1] in machine_text.LOCAL_COMMANDS:
        return SkipReason.LOCAL_COMMAND
    return machine_text.skip_reason(text)


def _derived_session(project: str | None, time: datetime | None) -> str:
    """Return a session for a prompt of a version that recorded none: one a project and day."""
    day = "" if time is None else f"{time:%Y-%m-%d}"
    return derived_session_id("history", project or "", day)


def _with_pasted(display: str, contents: Any) -> str:
    """Return a prompt with the texts that the user pasted, as far as the row holds them."""
    if not isinstance(contents, dict) or not contents:
        return display

    def pasted(match: re.Match[str]) -> str:
        entry = contents.get(match[1])
        text = entry.get("content") if isinstance(entry, dict) else None
        return text if isinstance(text, str) else match[0]

    return _PASTED.sub(pasted, display)
