"""Readers of Claude Code: session JSONL of versions 1.0 to 2.1, and exports from claude.ai/code.

A turn starts at a row that a user wrote, and ends before the next one of the same session. Rows are
read in file order: timestamps may run backwards, and parents may be in other files.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.claude import machine_text
from turnetl.formats.claude.machine_text import is_by_machine, is_typed, text_of
from turnetl.formats.claude.rows import (
    COWORK_ROWS,
    MESSAGE_TYPES,
    ROWS,
    ClaudeAttachment,
    ClaudeBlock,
    ClaudeMessage,
    ClaudeRow,
    ClaudeToolResult,
    MessageContent,
    blocks_of_any,
    content_of,
    count_calls,
    is_cowork,
    is_foreign,
    is_message,
    is_other_row,
    joined_text,
    skip_reason_of,
)
from turnetl.formats.claude.sessions import (
    SUBAGENTS,
    SYNTHETIC,
    ClaudeSessions,
    Delivery,
    MessageQueue,
    Replays,
    Sidechains,
    SkillCalls,
    add_start,
    is_sidechain,
    message_tokens,
)
from turnetl.formats.kit.json_archives import parse_document, read_elements, read_lines
from turnetl.formats.kit.row_decoder import RowDecoder
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.tool_input import compact_json, format_input
from turnetl.formats.kit.turn_builder import TurnBuilder, extend
from turnetl.formats.kit.usage import add_message
from turnetl.formats.port import ParseCounts, ParsedArchive, Probe, RawToolCall, RawTurn, SourceSpan


class ClaudeCode:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by a message, else by any other row that only Claude Code writes.

        Rows without a message are no proof beside those of another tool with the same fields.
        """
        has_row = False
        for row in probe.rows:
            if is_foreign(row):
                return False
            if is_message(row) or is_cowork(row):
                return True
            has_row = has_row or is_other_row(row)
        return has_row

    def read(self, data: bytes) -> ParsedArchive:
        reader = ClaudeReader()
        # In a text, the quotes would have backslashes.
        is_cowork_log = data.find(b'"_audit_timestamp"', 0, _START) >= 0
        rows: RowDecoder[Any] = COWORK_ROWS if is_cowork_log else ROWS
        read_lines(data, rows, reader.read, reader.counts)
        return reader.finish()


_START = 1 << 20
"""Bytes in which a log of Claude Cowork shows itself."""
_ROWS = "loglines"


class ClaudeWeb:
    def sniff(self, probe: Probe) -> bool:
        rows = probe.first.objects_at(_ROWS)
        return any(row.get("type") in MESSAGE_TYPES or "sessionId" in row for row in rows)

    def read(self, data: bytes) -> ParsedArchive:
        reader = ClaudeReader()
        read_elements(data, parse_document(data, _ROWS), ROWS, reader.read, reader.counts)
        return reader.finish()


@dataclass(slots=True)
class ClaudeReader:
    builder: TurnBuilder = field(default_factory=TurnBuilder)
    cwd: str | None = None
    sessions: ClaudeSessions = field(default_factory=ClaudeSessions)
    seen: dict[str, int] = field(default_factory=dict)
    """Keys of the contents of the messages that were read, by id: a repeated row adds nothing."""
    results: set[int] = field(default_factory=set)
    """The keys of rows with tool results."""
    billed: dict[str, RawTurn | None] = field(default_factory=dict)
    """The turn of an API message's tokens, by message id; None: before the first prompt."""
    queues: dict[str, MessageQueue] = field(default_factory=dict)
    """By session."""
    replays: Replays = field(default_factory=Replays)
    skill_calls: SkillCalls = field(default_factory=SkillCalls)
    sidechains: Sidechains = field(init=False)

    def __post_init__(self) -> None:
        self.sidechains = Sidechains(self.builder)

    @property
    def counts(self) -> ParseCounts:
        return self.builder.counts

    def read(self, row: ClaudeRow, span: SourceSpan) -> SkipReason | None:
        self.cwd = self.cwd or row.cwd
        if is_sidechain(row):
            return self.sidechains.read(row, span, self.sessions.turn(row))
        self.sessions.enter(row)
        if row.type == "queue-operation":
            return self._read_queue(row, span)
        if row.type in MESSAGE_TYPES:
            return self._read_message(row, span)
        if row.attachment is not None:
            return self._read_attachment(row, row.attachment, span)
        if row.data is not None and row.type == "progress":
            self.sidechains.add_progress(row, row.data, span, self.sessions.turn(row))
        if row.type == "system" and isinstance(row.content, str):
            self._close_at_exit_command(row, row.content)
        return skip_reason_of(row.type)

    def finish(self) -> ParsedArchive:
        for queue in self.queues.values():
            self._add_delayed(queue.claimed())
            self.counts.recount(SkipReason.QUEUE, SkipReason.WITHDRAWN, queue.withdrawn)
            self.counts.recount(SkipReason.QUEUE, SkipReason.UNDELIVERED, queue.undelivered)
        return self.builder.finish(self.sessions.last, self.cwd)

    def _read_message(self, row: ClaudeRow, span: SourceSpan) -> SkipReason | None:
        if row.message is not None and row.type == "assistant":
            self._add_usage(row, row.message)
        if row.message is None or row.message.content is None:
            return SkipReason.EMPTY_MESSAGE
        content = content_of(row.message.content)
        native_id = _native_id(row, self.seen, content.key)
        if (reason := self._repetition(native_id, content.key)) is not None:
            return reason
        if row.type == "assistant":
            return self._read_assistant(row, row.message, content, span)
        return self._read_user(row, content, span, native_id)

    def _repetition(self, native_id: str | None, key: int) -> SkipReason | None:
        """Record a message by its id; return how it repeats an earlier one, if it does."""
        if native_id is None:
            return None
        first = self.seen.get(native_id)
        if first is None:
            self.seen[native_id] = key
            return None
        return SkipReason.DUPLICATE if first == key else SkipReason.VARIANT

    def _extend(self, turn: RawTurn, row: ClaudeRow, span: SourceSpan) -> None:
        extend(turn, span, parse_timestamp(row.timestamp))
        turn.cwd = row.cwd or turn.cwd
        turn.git_branch = row.git_branch or turn.git_branch
        turn.app_version = row.version or turn.app_version

    def _queue(self, row: ClaudeRow) -> MessageQueue:
        return self.queues.setdefault(self.sessions.session(row), MessageQueue())

    def _read_queue(self, row: ClaudeRow, span: SourceSpan) -> SkipReason | None:
        """Follow the queue of messages typed while the agent works; delivered ones are steering."""
        blocks, operation = blocks_of_any(row.content), row.operation
        text, queue = None if blocks is None else text_of(blocks), self._queue(row)
        if queue.is_repeated(operation, text, str(row.timestamp) if row.timestamp else None):
            return SkipReason.DUPLICATE
        if text is not None and (reason := machine_text.queued_skip_reason(text)) is not None:
            return reason if operation == "enqueue" else SkipReason.QUEUE
        delivery = queue.apply(
            operation, text, row.reason, row.command_uuid, self.sessions.turn(row)
        )
        return SkipReason.QUEUE if delivery is None else self._add_delivery(delivery, row, span)

    def _read_attachment(
        self, row: ClaudeRow, attachment: ClaudeAttachment, span: SourceSpan
    ) -> SkipReason | None:
        """Read text that the user typed while the agent worked; skip other attachments."""
        if not is_typed(attachment):
            return SkipReason.ATTACHMENT
        content = content_of(attachment.prompt)
        native_id = _native_id(row, self.seen, content.key)
        if (repetition := self._repetition(native_id, content.key)) is not None:
            return repetition
        text = text_of(content.blocks)
        if (reason := machine_text.queued_skip_reason(text)) is not None:
            return reason
        turn = self.sessions.turn(row)
        delivery = self._queue(row).attach(text, attachment.source_uuid, turn) if text else None
        return SkipReason.QUEUE if delivery is None else self._add_delivery(delivery, row, span)

    def _add_delivery(
        self, delivery: Delivery, row: ClaudeRow, span: SourceSpan
    ) -> SkipReason | None:
        turn = delivery.turn
        if turn is not None and delivery.replaces in turn.steering:
            turn.steering[turn.steering.index(delivery.replaces)] = delivery.text
        else:
            self.builder.add_steering(turn, [delivery.text])
        if turn is None:
            return SkipReason.PREAMBLE
        self._extend(turn, row, span)
        return None

    def _add_delayed(self, deliveries: list[Delivery]) -> None:
        """Add what was delivered by earlier rows, as a later row showed."""
        for delivery in deliveries:
            self.builder.add_steering(delivery.turn, [delivery.text])

    def _read_assistant(
        self,
        row: ClaudeRow,
        message: ClaudeMessage,
        content: MessageContent,
        span: SourceSpan,
    ) -> SkipReason | None:
        turn, blocks = self.sessions.turn(row), content.blocks
        self.skill_calls.start_message(message.id)
        if turn is None or message.model == SYNTHETIC or row.is_api_error_message:
            self.counts.tool_calls += count_calls(blocks)
            return SkipReason.PREAMBLE if turn is None else self._read_synthetic(turn, row, span)
        if self.replays.is_repeated(message.id, content, turn):
            return self._repeat(turn, message)
        self.replays.owner(message.id, turn)
        self._extend(turn, row, span)
        turn.closed_by = None
        turn.model = message.model or turn.model
        for block in blocks:
            if block.type == "tool_use":
                self._add_call(turn, block)
            elif block.type == "text" and (text := block.text) and machine_text.is_agent_text(text):
                turn.assistant_texts.append(text)
        return None

    def _repeat(self, turn: RawTurn, message: ClaudeMessage) -> SkipReason:
        """Take back a turn whose prompt and response the archive holds before, as another turn."""
        owner = self.replays.owner(message.id, turn)
        if self.replays.repeats(turn, owner) and self.replays.is_last(turn):
            self.builder.take_back_last()
            owner.usage.update(turn.usage)
            self.billed.update(dict.fromkeys(turn.usage, owner))
            self.counts.recount(None, SkipReason.DUPLICATE, 1)
            self.sessions.reopen(turn.session_id, self.replays.reopen_previous())
        return SkipReason.DUPLICATE

    def _read_synthetic(self, turn: RawTurn, row: ClaudeRow, span: SourceSpan) -> SkipReason | None:
        """Read text that the client wrote under the model's role. An API error ends the turn."""
        if not row.is_api_error_message:
            return SkipReason.SYNTHETIC
        self._extend(turn, row, span)
        turn.closed_by = ClosedBy.INTERRUPTED
        return None

    def _add_call(self, turn: RawTurn, block: ClaudeBlock) -> None:
        call = RawToolCall(block.name or "", format_input(block.input), arguments=block.input)
        self.builder.add_call(turn, call, len(compact_json(block.input)), block.id)
        self.skill_calls.add(call)
        if call.name in SUBAGENTS:
            add_start(self.builder, turn, block)

    def _add_usage(self, row: ClaudeRow, message: ClaudeMessage) -> None:
        """Add the tokens of an API message, which rows may repeat, to the turn of its first row."""
        tokens = message_tokens(message, parse_timestamp(row.timestamp))
        if tokens is None:
            return
        turn, key = self.sessions.turn(row), message.id or row.uuid
        if key is not None:
            turn = self.billed.setdefault(key, turn)
        if turn is None:
            self.builder.subagents.add_own(self.sessions.session(row), key, tokens)
        else:
            name = key or f"{turn.session_id} {turn.native_id} {len(turn.usage)}"
            add_message(turn.usage, name, tokens)

    def _read_user(
        self, row: ClaudeRow, content: MessageContent, span: SourceSpan, native_id: str | None
    ) -> SkipReason | None:
        if row.is_compact_summary or row.is_visible_in_transcript_only:
            return SkipReason.COMPACTION
        blocks = content.blocks
        if any(block.type == "tool_result" for block in blocks):
            return self._read_results(row, content, span)
        if row.is_meta or row.turn_companion:
            return SkipReason.META
        if is_by_machine(row):
            self._add_delayed(self._queue(row).match_client_row(""))
            return SkipReason.NOTIFICATION
        rest = [block for block in blocks if not machine_text.is_interrupt(block.text or "")]
        if len(rest) == len(blocks):
            return self._read_text(row, text_of(blocks), span, native_id)
        reason = self._interrupt(row, span, SkipReason.PREAMBLE)
        text = text_of([block for block in rest if block.type == "text"])
        return self._read_text(row, text, span, native_id) if text else reason

    def _read_text(
        self, row: ClaudeRow, text: str, span: SourceSpan, native_id: str | None
    ) -> SkipReason | None:
        if not text:
            return SkipReason.NO_TEXT
        if self.skill_calls.pop(machine_text.command_name(text)):
            return SkipReason.SKILL_CALL
        prompt = machine_text.typed_command(text)
        queue, reason = self._queue(row), machine_text.skip_reason(prompt)
        if reason is None:
            self._add_delayed(queue.match_prompt(prompt))
            self._open_turn(row, prompt, span, native_id)
        elif reason is SkipReason.HOOK:
            return self._interrupt(row, span, reason)
        else:
            self._add_delayed(queue.match_client_row(machine_text.client_input(prompt)))
            self._close_at_exit_command(row, prompt)
        return reason

    def _close_at_exit_command(self, row: ClaudeRow, text: str) -> None:
        """Close the turn if the text is the local command with which the user left."""
        turn = self.sessions.turn(row)
        if turn is not None and turn.closed_by is None and machine_text.is_exit_command(text):
            turn.closed_by = ClosedBy.SESSION_END

    def _interrupt(self, row: ClaudeRow, span: SourceSpan, reason: SkipReason) -> SkipReason | None:
        """Close the turn as interrupted; return the reason if there is none."""
        turn = self.sessions.turn(row)
        if turn is None:
            return reason
        self._extend(turn, row, span)
        self.skill_calls.clear()
        turn.closed_by = ClosedBy.INTERRUPTED
        return None

    def _read_results(
        self, row: ClaudeRow, content: MessageContent, span: SourceSpan
    ) -> SkipReason | None:
        if self._is_repeated_result(row, content):
            return SkipReason.DUPLICATE
        turn, time = self.sessions.turn(row), parse_timestamp(row.timestamp)
        has_answer, texts = False, []
        for block in content.blocks:
            if block.type == "tool_result":
                answer = self._complete_call(block, time)
                if isinstance(row.tool_use_result, ClaudeToolResult):
                    self.builder.link(turn, block.tool_use_id, row.tool_use_result.agent_id)
                    if call := self.builder.calls.get(block.tool_use_id or ""):
                        call.original = row.tool_use_result.original_file or ""
                self.builder.add_answer(turn, answer)
                has_answer = has_answer or answer is not None
            elif block.type == "text" and block.text and not row.is_meta:
                texts.append(block.text)
        if not has_answer and row.user_feedback and row.user_feedback.strip():
            self.builder.add_answer(turn, row.user_feedback)
        if texts:
            self._read_texts_beside_results(texts, row)
        if turn is None:
            return SkipReason.PREAMBLE
        self._extend(turn, row, span)
        return None

    def _is_repeated_result(self, row: ClaudeRow, content: MessageContent) -> bool:
        """Record a row with results; return whether one with the same results was read before."""
        if row.user_feedback or any(
            one.type == "tool_result" and not one.tool_use_id for one in content.blocks
        ):
            return False
        is_repeated = content.key in self.results
        self.results.add(content.key)
        return is_repeated

    def _read_texts_beside_results(self, texts: list[str], row: ClaudeRow) -> None:
        """Add steering, and close the turn at an interrupt. Announced skills are neither."""
        if any(map(self.skill_calls.pop, map(machine_text.command_name, texts))):
            return
        interrupts = [text for text in texts if machine_text.is_interrupt(text)]
        turn = self.sessions.turn(row)
        for text in map(machine_text.without_context, texts):
            if text.strip() and text not in interrupts and not machine_text.skip_reason(text):
                self._queue(row).deliver(text)
                self.builder.add_steering(turn, [text])
        if turn is not None and interrupts:
            turn.closed_by = ClosedBy.INTERRUPTED

    def _complete_call(self, block: ClaudeBlock, time: datetime | None) -> str | None:
        """Add a result to its call; return what the user answered through it, if anything."""
        result = machine_text.without_context(joined_text(block.content))
        is_error = block.is_error is True
        call = self.builder.calls.get(block.tool_use_id or "")
        if call is not None:
            call.result = machine_text.without_error_tag(result)
            call.is_error, call.ended_at = is_error, time
        return machine_text.user_answer(result, is_error=is_error)

    def _open_turn(
        self, row: ClaudeRow, text: str, span: SourceSpan, native_id: str | None
    ) -> None:
        session, previous = self.sessions.session(row), self.sessions.turn(row)
        closed_by = None if previous is None else previous.closed_by
        turn = self.builder.open(
            text,
            span,
            parse_timestamp(row.timestamp),
            session=session,
            native_id=native_id,
            prompt_id=native_id,
            previous=previous,
        )
        self.replays.open(turn, previous, closed_by)
        turn.parent_session_id, turn.agent_id = self.sessions.parent(session), row.agent_id
        self._extend(turn, row, span)
        self.sessions.open(turn)


def _native_id(row: ClaudeRow, seen: dict[str, int], key: int) -> str | None:
    """Return the id of a message, or of the message that a fork copied under a new id.

    A fork's row with other content than the row that it names is a row of its own.
    """
    origin = None if row.forked_from is None else row.forked_from.message_uuid
    return row.uuid if not origin or seen.get(origin, key) != key else origin
