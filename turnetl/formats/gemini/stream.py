"""The format of `gemini --output-format stream-json`: the events of one run, or of several.

A run starts with `init`, repeats the prompt that it was given, and ends with `result`. The model's
text comes in fragments.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.gemini import history
from turnetl.formats.kit.json_archives import read_lines
from turnetl.formats.kit.probe import LazyObject
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder
from turnetl.formats.kit.tool_input import as_text, compact_json, error_text, format_input
from turnetl.formats.kit.turn_builder import TurnBuilder, extend
from turnetl.formats.kit.usage import GeminiRunUsage, MessageTokens
from turnetl.formats.port import ParsedArchive, Probe, RawToolCall, RawTurn, SourceSpan, parse_time

_TURN_EVENTS = ("message", "tool_use", "tool_result", "result")


class StreamEvent(msgspec.Struct):
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
    stats: GeminiRunUsage | None = None


_EVENTS = RowDecoder(StreamEvent, Envelope(own=(("type", "timestamp"),)))


class GeminiStream:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by an event that only Gemini CLI prints."""
        return any(map(_is_event, probe.rows))

    def read(self, data: bytes) -> ParsedArchive:
        reader = StreamReader()
        read_lines(data, _EVENTS, reader.read, reader.builder.counts)
        return reader.finish()


def _is_event(row: LazyObject) -> bool:
    if not isinstance(row.get("timestamp"), str):
        return False
    kind = row.get("type")
    if kind == "init":
        return isinstance(row.get("session_id"), str) and isinstance(row.get("model"), str)
    if kind == "message":
        return row.get("delta") is True and isinstance(row.get("content"), str)
    has_names = isinstance(row.get("tool_name"), str) and isinstance(row.get("tool_id"), str)
    return kind == "tool_use" and has_names and "parameters" in row


@dataclass(slots=True)
class StreamReader:
    builder: TurnBuilder = field(default_factory=TurnBuilder)
    session: str = ""
    model: str | None = None
    turn: RawTurn | None = None
    """Turn of the current run; None before its prompt."""
    native_ids: set[str] = field(default_factory=set)
    runs: int = 0
    is_in_text: bool = False
    """Whether the last event was a fragment of a text, which the next fragment continues."""

    def read(self, event: StreamEvent, span: SourceSpan) -> SkipReason | None:
        was_in_text, self.is_in_text = self.is_in_text, False
        if event.type == "init":
            return self._start_run(event)
        if event.type == "message" and event.role == "user":
            return self._read_prompt(event, span)
        if event.type not in _TURN_EVENTS:
            return SkipReason.ERROR if event.type == "error" else SkipReason.OTHER
        if self.turn is None:
            self.builder.counts.tool_calls += event.type == "tool_use"
            return SkipReason.PREAMBLE
        extend(self.turn, span, parse_time(event.timestamp))
        return self._add_to_turn(self.turn, event, is_continued=was_in_text)

    def finish(self) -> ParsedArchive:
        for turn in self.builder.turns:
            turn.assistant_texts = [text for text in turn.assistant_texts if text.strip()]
        return self.builder.finish(self.session or None, None)

    def _start_run(self, event: StreamEvent) -> SkipReason:
        """Start a run. A previous run without a result was interrupted."""
        if self.turn is not None and self.turn.closed_by is None:
            self.turn.closed_by = ClosedBy.INTERRUPTED
        self.turn = None
        self.runs += 1
        self.session = event.session_id or self.session
        self.model = event.model or self.model
        return SkipReason.RUN_START

    def _read_prompt(self, event: StreamEvent, span: SourceSpan) -> SkipReason | None:
        text, reason = history.written_text(event.content)
        if not text:
            return reason
        native_id, time = self._native_id(event), parse_time(event.timestamp)
        self.turn = self.builder.open(
            text, span, time, session=self.session, native_id=native_id, previous=self.turn
        )
        self.turn.model, self.turn.ended_at = self.model, time
        return None

    def _native_id(self, event: StreamEvent) -> str:
        """Return an id of session and time, because another archive may continue the session."""
        if not self.session or parse_time(event.timestamp) is None:
            return ""
        native_id = f"{self.session}@{event.timestamp}"
        if native_id in self.native_ids:
            return ""
        self.native_ids.add(native_id)
        return native_id

    def _add_to_turn(
        self, turn: RawTurn, event: StreamEvent, *, is_continued: bool
    ) -> SkipReason | None:
        if event.type == "message":
            return self._add_text(turn, event, is_continued=is_continued)
        if event.type == "tool_result":
            return self._add_result(event)
        if event.type == "tool_use":
            arguments = event.parameters
            call = RawToolCall(event.tool_name or "", format_input(arguments), arguments=arguments)
            self.builder.add_call(turn, call, len(compact_json(arguments)), event.tool_id)
        else:
            self._end_run(turn, event)
        return None

    def _add_text(
        self, turn: RawTurn, event: StreamEvent, *, is_continued: bool
    ) -> SkipReason | None:
        if event.role != "assistant" or event.content is None:
            return SkipReason.OTHER
        self.is_in_text = event.delta is True
        if is_continued and self.is_in_text and turn.assistant_texts:
            turn.assistant_texts[-1] += event.content
        else:
            turn.assistant_texts.append(event.content)
        return None

    def _add_result(self, event: StreamEvent) -> SkipReason | None:
        call = self.builder.calls.get(event.tool_id or "")
        if call is None:
            return SkipReason.OTHER
        call.is_error = event.status == "error"
        call.result = as_text(event.output) or error_text(event.error)
        call.ended_at = parse_time(event.timestamp)
        return None

    def _end_run(self, turn: RawTurn, event: StreamEvent) -> None:
        failed = event.status == "error"
        turn.closed_by = ClosedBy.INTERRUPTED if failed else ClosedBy.SESSION_END
        if event.stats is not None:
            key = f"{turn.session_id} {turn.native_id or turn.ordinal} run-{self.runs}"
            time = parse_time(event.timestamp)
            turn.usage[key] = MessageTokens(event.stats, self.model, time)
