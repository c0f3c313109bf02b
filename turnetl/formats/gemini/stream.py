"""What `gemini --output-format stream-json` prints: the events of one run, or of several.

A run starts with `init`, repeats the prompt that it was given, and ends with `result`. What the
model says comes in pieces.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from turnetl.formats.base import (
    ParseCounts,
    ParsedArchive,
    Probe,
    RawToolCall,
    RawTurn,
    SourceSpan,
    parse_time,
)
from turnetl.formats.gemini import authorship
from turnetl.formats.kit.jsonl import read_lines
from turnetl.formats.kit.probe import LazyObject
from turnetl.formats.kit.row_decoder import RowDecoder
from turnetl.formats.kit.session_ids import assign_session_ids
from turnetl.formats.kit.tool_input import compact_json, format_input
from turnetl.model import ClosedBy, SessionId
from turnetl.skip_reasons import SkipReason

_Tokens = Annotated[int, msgspec.Meta(ge=0, lt=2**40)]


class _Stats(msgspec.Struct):
    input_tokens: _Tokens | None = None
    output_tokens: _Tokens | None = None


class _Event(msgspec.Struct):
    type: str | None = None
    timestamp: str | None = None
    session_id: str | None = None
    model: str | None = None
    role: str | None = None
    content: str | None = None
    delta: bool | None = None
    tool_name: str | None = None
    tool_id: str | None = None
    parameters: Any = None
    status: str | None = None
    output: Any = None
    error: Any = None
    stats: _Stats | None = None


_EVENTS = RowDecoder(_Event)


class GeminiStream:
    name = "gemini_stream"
    title = "Gemini CLI runs printed with --output-format stream-json (JSONL)"
    version = 2

    def sniff(self, probe: Probe) -> bool:
        """Know the archive by an event that only Gemini CLI prints."""
        return any(map(_is_event, probe.rows))

    def read(self, data: bytes) -> ParsedArchive:
        reader = _Reader()
        read_lines(data, _EVENTS, reader.take, reader.counts)
        return reader.reading()


def _is_event(row: LazyObject) -> bool:
    if not isinstance(row.get("timestamp"), str):
        return False
    kind = row.get("type")
    if kind == "init":
        return isinstance(row.get("session_id"), str) and isinstance(row.get("model"), str)
    if kind == "message":
        return row.get("delta") is True and isinstance(row.get("content"), str)
    names = isinstance(row.get("tool_name"), str) and isinstance(row.get("tool_id"), str)
    return kind == "tool_use" and names and "parameters" in row


@dataclass(slots=True)
class _Reader:
    """Walks the events in file order."""

    counts: ParseCounts = field(default_factory=ParseCounts)
    turns: list[RawTurn] = field(default_factory=list)
    session: str = ""
    model: str | None = None
    turn: RawTurn | None = None
    """Of the run that is going on; None before its prompt."""
    natives: set[str] = field(default_factory=set)
    runs: int = 0
    is_speaking: bool = False
    """Whether the last event was a piece of an answer, which the next piece goes on with."""
    uses: dict[str, RawToolCall] = field(default_factory=dict)

    def take(self, event: _Event, place: SourceSpan) -> SkipReason | None:
        """Take what the event holds; return the reason if that is nothing for a turn."""
        was_speaking, self.is_speaking = self.is_speaking, False
        if event.type == "init":
            return self._init(event)
        if event.type == "message" and event.role == "user":
            return self._user(event, place)
        if event.type == "tool_use":
            self.counts.tool_calls += 1
        if event.type not in ("message", "tool_use", "tool_result", "result"):
            return SkipReason.ERROR if event.type == "error" else SkipReason.OTHER
        if self.turn is None:
            return SkipReason.PREAMBLE
        _touch(self.turn, event, place)
        return self._worked(self.turn, event, goes_on=was_speaking)

    def reading(self) -> ParsedArchive:
        for turn in self.turns:
            turn.assistant_texts = [text for text in turn.assistant_texts if text.strip()]
        self.counts.turns = len(self.turns)
        assign_session_ids(self.turns, self.session or None)
        return ParsedArchive(self.turns, self.counts, None)

    def _init(self, event: _Event) -> SkipReason:
        """Start a run; one before it that has no result broke off."""
        if self.turn is not None and self.turn.closed_by is None:
            self.turn.closed_by = ClosedBy.INTERRUPTED
        self.turn = None
        self.runs += 1
        self.session = event.session_id or self.session
        self.model = event.model or self.model
        return SkipReason.RUN_START

    def _user(self, event: _Event, place: SourceSpan) -> SkipReason | None:
        text, reason = authorship.written(event.content)
        if not text:
            return reason
        if self.turn is not None and self.turn.closed_by is not ClosedBy.INTERRUPTED:
            self.turn.closed_by = ClosedBy.NEXT_PROMPT
        self.turn = RawTurn(
            native_id=self._native(event),
            session_id=SessionId(self.session),
            ordinal=0,
            user_text=text,
            first_line=place.line,
            last_line=place.last_line,
            first_byte=place.start,
            last_byte=place.end,
            started_at=parse_time(event.timestamp),
            model=self.model,
        )
        _touch(self.turn, event, place)
        self.turns.append(self.turn)
        return None

    def _native(self, event: _Event) -> str:
        """Return a prompt's id: its session and its moment, for a session may go on elsewhere."""
        if not self.session or parse_time(event.timestamp) is None:
            return ""
        native = f"{self.session}@{event.timestamp}"
        if native in self.natives:
            return ""
        self.natives.add(native)
        return native

    def _worked(self, turn: RawTurn, event: _Event, *, goes_on: bool) -> SkipReason | None:
        if event.type == "message":
            return self._said(turn, event, goes_on=goes_on)
        if event.type == "tool_use":
            self._use(turn, event)
        elif event.type == "tool_result":
            return self._outcome(event)
        else:
            self._end(turn, event)
        return None

    def _said(self, turn: RawTurn, event: _Event, *, goes_on: bool) -> SkipReason | None:
        if event.role != "assistant" or event.content is None:
            return SkipReason.OTHER
        self.is_speaking = event.delta is True
        if goes_on and self.is_speaking and turn.assistant_texts:
            turn.assistant_texts[-1] += event.content
        else:
            turn.assistant_texts.append(event.content)
        return None

    def _use(self, turn: RawTurn, event: _Event) -> None:
        tool = RawToolCall(event.tool_name or "", format_input(event.parameters))
        turn.tool_calls.append(tool)
        turn.input_chars += len(compact_json(event.parameters))
        if event.tool_id is not None:
            self.uses[event.tool_id] = tool

    def _outcome(self, event: _Event) -> SkipReason | None:
        tool = self.uses.get(event.tool_id or "")
        if tool is None:
            return SkipReason.OTHER
        tool.is_error = event.status == "error"
        tool.result = _text(event.output) or _fault(event.error)
        tool.ended_at = parse_time(event.timestamp)
        return None

    def _end(self, turn: RawTurn, event: _Event) -> None:
        failed = event.status == "error"
        turn.closed_by = ClosedBy.INTERRUPTED if failed else ClosedBy.SESSION_END
        if event.stats is not None:
            given = event.stats.input_tokens or 0, event.stats.output_tokens or 0
            turn.usage[f"run-{self.runs}"] = given


def _touch(turn: RawTurn, event: _Event, place: SourceSpan) -> None:
    turn.last_line, turn.last_byte = place.last_line, place.end
    turn.ended_at = parse_time(event.timestamp) or turn.ended_at


def _fault(error: Any) -> str:
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else _text(error)


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return compact_json(value)
