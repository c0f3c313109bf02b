"""Readers of Gemini CLI's session files: a document until 0.39, appended lines since 0.40."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from turnetl.base.batched import grouped
from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.gemini import history
from turnetl.formats.gemini.history import GeminiHistory, GeminiMessage
from turnetl.formats.gemini.rows import (
    FAILED,
    MESSAGE_TYPES,
    ROWS,
    GeminiFunctionResponse,
    GeminiRow,
    GeminiToolCall,
    calls_of,
    parts_of,
    response_result,
    responses_in,
    result_of,
    texts_of,
)
from turnetl.formats.kit.counts import MAX_ROWS, TooManyRows
from turnetl.formats.kit.json_archives import parse_document, read_elements, read_lines
from turnetl.formats.kit.times import latest
from turnetl.formats.kit.tool_input import compact_json, format_input
from turnetl.formats.kit.turn_builder import TurnBuilder, extend
from turnetl.formats.kit.usage import GeminiUsage, MessageTokens, add_message
from turnetl.formats.port import (
    ParseCounts,
    ParsedArchive,
    Probe,
    RawToolCall,
    RawTurn,
    SourceSpan,
    parse_time,
)

_MESSAGES = "messages"
_HEADER = ("sessionId", "kind", "directories")
_UPDATED = ("lastUpdated", "messages", "sessionId", "summary", "directories")
_MODEL_KEYS = ("model", "tokens", "thoughts", "toolCalls")
_MODEL_LINE_KEYS = ("content", "parts", "toolCalls", "thoughts", "tokens")


class GeminiJson:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by its header and its messages; a truncated one by its header."""
        root = probe.first
        if len(probe.rows) != 1 or not isinstance(root.get("sessionId"), str):
            return False
        if _MESSAGES not in root:
            return _is_header(root)
        first = root.object_at(_MESSAGES)
        if first is None:
            return _is_header(root) and root[_MESSAGES] == []
        known = first.get("type") in MESSAGE_TYPES and isinstance(first.get("id"), str)
        return known and not any(map(_is_from_other_tool, root.objects_at(_MESSAGES)))

    def read(self, data: bytes) -> ParsedArchive:
        document = parse_document(data, _MESSAGES)
        rows, counts = CollectedRows(), ParseCounts()
        read_elements(data, document, ROWS, rows.add, counts)
        history = GeminiHistory()
        if (header := _header(document.fields)) is not None:
            history.update(header)
        return _build(rows, history, counts)


class GeminiJsonl:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by a session's header, or by a line that only Gemini CLI writes."""
        return any(map(_is_line, probe.rows))

    def read(self, data: bytes) -> ParsedArchive:
        rows, counts = CollectedRows(), ParseCounts()
        read_lines(data, ROWS, rows.add, counts)
        return _build(rows, GeminiHistory(), counts, is_appended=True)


@dataclass(slots=True)
class CollectedRows:
    """All rows of an archive. Their lines count as used until all rows are read."""

    rows: list[tuple[GeminiRow, SourceSpan]] = field(default_factory=list)

    def add(self, row: GeminiRow, span: SourceSpan) -> None:
        if len(self.rows) == MAX_ROWS:
            raise TooManyRows
        self.rows.append((row, span))

    def recount(self, counts: ParseCounts, reasons: Mapping[int, SkipReason | None]) -> None:
        """Recount the lines of unused rows. A line is used if any row on it is used."""
        by_line = grouped(
            (span.line, (span.lines, reasons[number])) for number, (_, span) in enumerate(self.rows)
        )
        for on_line in by_line.values():
            reason = next((reason for _, reason in on_line), None)
            if all(reason is not None for _, reason in on_line):
                counts.recount(None, reason, sum(lines for lines, _ in on_line))


def _build(
    rows: CollectedRows, history: GeminiHistory, counts: ParseCounts, *, is_appended: bool = False
) -> ParsedArchive:
    """Build the turns of all rows; `is_appended`: the archive is written line by line."""
    for number, (row, span) in enumerate(rows.rows):
        history.read(number, row, span)
    if is_appended:
        history.finish()
    reader = GeminiReader(history.set_reason, TurnBuilder(counts))
    for message in history.messages:
        reader.read(message)
    rows.recount(counts, history.reasons)
    for turn in reader.builder.turns:
        turn.cwd = history.folders.get(turn.session_id)
    return reader.finish(next(iter(history.folders.values()), None))


def _header(fields: Mapping[str, bytes]) -> GeminiRow | None:
    pairs = [f'"{name}":'.encode() + fields[name] for name in _HEADER if name in fields]
    return ROWS.decode_first(b"{" + b",".join(pairs) + b"}")


def _is_header(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("sessionId"), str) and isinstance(row.get("projectHash"), str)


def _is_from_other_tool(message: Mapping[str, Any]) -> bool:
    """Return whether a model's message has another type: forks of Gemini CLI use their own."""
    return message.get("type") not in MESSAGE_TYPES and any(key in message for key in _MODEL_KEYS)


def _is_line(row: Mapping[str, Any]) -> bool:
    if "type" not in row:
        return (_is_header(row) and _MESSAGES not in row) or (len(row) == 1 and _is_change(row))
    if not isinstance(row.get("id"), str) or row.get("type") != "gemini":
        return False
    return any(key in row for key in _MODEL_LINE_KEYS)


def _is_change(row: Mapping[str, Any]) -> bool:
    update = row.get("$set")
    if isinstance(update, dict):
        return any(key in update for key in _UPDATED)
    return isinstance(row.get("$rewindTo"), str)


_SUBAGENTS = ("invoke_agent", "delegate_to_agent", "codebase_investigator")
_PROMPTS = ("prompt", "objective", "query", "task")
_CANCELLED = "cancelled"
_NOTICES = {"info": SkipReason.INFO, "warning": SkipReason.WARNING, "error": SkipReason.ERROR}


@dataclass(slots=True)
class GeminiReader:
    """Reads the messages in the order of their first versions."""

    set_reason: Callable[[int, SkipReason | None], None]
    """Is called with the number of each row and its reason."""
    builder: TurnBuilder
    """Its `calls` are those without a result so far."""
    _call_ids: set[str] = field(default_factory=set)
    """The ids of all calls: a message that is written again repeats its calls."""
    _command: tuple[GeminiMessage, str] | None = None
    """A message that may be a local command. If the model responds to it, it is a prompt."""
    _run: "GeminiReader | None" = None
    """Reads the messages of a subagent like a session's."""

    def finish(self, cwd: str | None) -> ParsedArchive:
        if self._run is not None:
            for turn in self._run.builder.turns:
                self.builder.add_run_of([turn], turn.session_id, turn.session_id)
        return self.builder.finish(None, cwd)

    def read(self, message: GeminiMessage) -> None:
        self.set_reason(message.number, self._read(message))

    def _read(self, message: GeminiMessage) -> SkipReason | None:
        if message.is_sidechain:
            return self._read_sidechain(message)
        if message.is_copy:
            return SkipReason.COPY
        if message.row.type == "user":
            return self._read_user(message)
        if (reason := _NOTICES.get(message.row.type or "")) is not None:
            return self._read_notice(message, reason)
        return self._read_model(message)

    def _read_sidechain(self, message: GeminiMessage) -> SkipReason:
        row = message.row
        self.builder.counts.sidechain_rows += 1
        self.builder.counts.tool_calls += len(calls_of(row))
        if row.tokens is not None:
            self.builder.subagents.add(
                message.session,
                None,
                started_by=message.session,
                key=message.native_id,
                message=_tokens(row, row.tokens),
            )
        if self._run is None:
            self._run = GeminiReader(lambda *_: None, TurnBuilder())
        self._run.read(replace(message, is_sidechain=False))
        return SkipReason.SIDECHAIN

    def _read_user(self, message: GeminiMessage) -> SkipReason | None:
        row = message.row
        if responses := responses_in(row.content):
            added = [self._add_result(response, row.timestamp) for response in responses]
            is_steered = self._add_steering(message)
            return None if is_steered or any(added) else SkipReason.TOOL_RESULT
        text, reason = history.prompt_text(row)
        if not text:
            return reason
        if row.display_content is None and history.is_command(text):
            return self._read_command(message, text)
        self._open_turn(message, text)
        return None

    def _add_result(self, response: GeminiFunctionResponse, timestamp: str | None) -> bool:
        """Add a result to its call if the call's own record lacks it; return whether it does."""
        call = self.builder.calls.pop(response.id or "", None)
        if call is None:
            return False
        call.result, call.is_error = response_result(response)
        call.ended_at = parse_time(timestamp)
        return True

    def _add_steering(self, message: GeminiMessage) -> bool:
        """Add steering texts to the current turn; return whether there are both."""
        turn, texts = self.builder.current, history.steering_text(message.row.content)
        self.builder.add_steering(turn, texts)
        if turn is None or not texts:
            return False
        _extend(turn, message)
        return True

    def _read_command(self, message: GeminiMessage, text: str) -> SkipReason:
        self._command = message, text
        turn = self.builder.current
        if turn is not None and turn.closed_by is None and history.is_exit_command(text):
            turn.closed_by = ClosedBy.SESSION_END
        return SkipReason.LOCAL_COMMAND

    def _read_notice(self, message: GeminiMessage, reason: SkipReason) -> SkipReason | None:
        turn = self.builder.current
        if turn is None or not history.is_interrupt(message.row):
            return reason
        _extend(turn, message)
        turn.closed_by = ClosedBy.INTERRUPTED
        return None

    def _read_model(self, message: GeminiMessage) -> SkipReason | None:
        row = message.row
        calls = [call for call in calls_of(row) if call.id is None or call.id not in self._call_ids]
        texts = texts_of(row.content) + texts_of(row.parts)
        texts = [text for text in texts if not history.is_canned(text)]
        is_synthetic = _is_synthetic(row, texts, calls)
        if self._command is not None and not is_synthetic:
            self.set_reason(self._command[0].number, None)
            self._open_turn(*self._command)
        self._call_ids.update(call.id for call in calls if call.id is not None)
        turn = self.builder.current
        if turn is None:
            self.builder.counts.tool_calls += len(calls)
            if row.tokens is not None:
                tokens = _tokens(row, row.tokens)
                self.builder.subagents.add_own(message.session, message.native_id, tokens)
            return SkipReason.PREAMBLE
        if is_synthetic:
            return SkipReason.SYNTHETIC
        self._add_answer(turn, message, texts, calls)
        return None

    def _add_answer(
        self, turn: RawTurn, message: GeminiMessage, texts: list[str], calls: list[GeminiToolCall]
    ) -> None:
        row = message.row
        _extend(turn, message)
        turn.model = row.model or turn.model
        turn.assistant_texts += texts
        for call in calls:
            self._add_call(turn, call)
        if calls and all(call.status == _CANCELLED for call in calls):
            turn.closed_by = ClosedBy.INTERRUPTED
        elif texts or calls:
            turn.closed_by = None
        if row.tokens is not None:
            key = message.native_id or f"{turn.session_id} {turn.ordinal} {len(turn.usage)}"
            add_message(turn.usage, key, _tokens(row, row.tokens))

    def _add_call(self, turn: RawTurn, recorded: GeminiToolCall) -> None:
        result, failed = result_of(recorded)
        ended_at = parse_time(recorded.timestamp)
        text = format_input(recorded.args)
        call = RawToolCall(recorded.name or "", text, result, failed, ended_at, recorded.args)
        has_result = recorded.result is not None or recorded.status in FAILED
        key = None if has_result else recorded.id
        self.builder.add_call(turn, call, len(compact_json(recorded.args)), key)
        turn.ended_at = latest(turn.ended_at, ended_at)
        if (prompt := _subagent_prompt(recorded)) is not None:
            self.builder.add_start(turn, prompt, recorded.id, recorded.name)
            self.builder.link(turn, recorded.id, recorded.agent_id)
        answer = history.user_answer(recorded.name, recorded.args, result)
        self.builder.add_answer(turn, answer)

    def _open_turn(self, message: GeminiMessage, text: str) -> None:
        self._command = None
        turn = self.builder.open(
            text,
            message.span,
            parse_time(message.row.timestamp),
            session=message.session,
            native_id=message.native_id,
            prompt_id=message.row.id,
            previous=self.builder.current,
        )
        _extend(turn, message)


def _tokens(row: GeminiRow, usage: GeminiUsage) -> MessageTokens:
    return MessageTokens(usage, row.model, parse_time(row.timestamp))


def _extend(turn: RawTurn, message: GeminiMessage) -> None:
    extend(turn, message.last_span, latest(turn.ended_at, parse_time(message.row.timestamp)))


def _is_synthetic(row: GeminiRow, texts: list[str], calls: list[GeminiToolCall]) -> bool:
    """Return whether a message holds nothing of a model, or only calls that are known."""
    if texts or calls or row.model is not None or row.tokens is not None:
        return False
    return bool(texts_of(row.content) or any(part.function_call for part in parts_of(row.content)))


def _subagent_prompt(call: GeminiToolCall) -> str | None:
    if call.name not in _SUBAGENTS and call.agent_id is None:
        return None
    arguments = call.args if isinstance(call.args, dict) else {}
    prompts = (arguments.get(key) for key in _PROMPTS)
    return next((prompt for prompt in prompts if isinstance(prompt, str)), None)
