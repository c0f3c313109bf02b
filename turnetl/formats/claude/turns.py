"""The reader of one Claude Code archive: it builds turns row by row.

Rows are read in file order: timestamps may run backwards, and parents may be in other files.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime

from turnetl.formats.base import (
    ParseCounts,
    ParsedArchive,
    RawToolCall,
    RawTurn,
    SourceSpan,
)
from turnetl.formats.claude import machine_text
from turnetl.formats.claude.authorship import is_by_machine, is_typed, text_of
from turnetl.formats.claude.queue import MessageQueue
from turnetl.formats.claude.rows import (
    ClaudeAttachment,
    ClaudeBlock,
    ClaudeMessage,
    ClaudeRow,
    blocks_of,
    blocks_of_any,
    count_calls,
    joined_text,
)
from turnetl.formats.claude.sessions import ClaudeSessions
from turnetl.formats.claude.sidechain import SYNTHETIC, is_sidechain, read_sidechain
from turnetl.formats.claude.skill_calls import SkillCalls
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.tool_input import compact_json, format_input
from turnetl.formats.kit.turn_builder import TurnBuilder, add_subagent_prompt, add_usage, extend
from turnetl.model import ClosedBy
from turnetl.skip_reasons import SkipReason

MESSAGE_TYPES = ("user", "assistant")
_SKIPPED = {
    "progress": SkipReason.PROGRESS,
    "file-history-snapshot": SkipReason.SNAPSHOT,
    "summary": SkipReason.SUMMARY,
    "system": SkipReason.SYSTEM,
}
# Bound once: access through the class of an enum is slow, and most rows are skipped.
_OTHER = SkipReason.OTHER
_SUBAGENTS = ("Task", "Agent")


@dataclass(slots=True)
class ClaudeReader:
    """Reads the rows of one archive in file order."""

    builder: TurnBuilder = field(default_factory=TurnBuilder)
    cwd: str | None = None
    sessions: ClaudeSessions = field(default_factory=ClaudeSessions)
    seen: set[str] = field(default_factory=set)
    """The ids of the messages that were read: a repeated row adds nothing."""
    billed: dict[str, RawTurn] = field(default_factory=dict)
    """The turn to which an API message's usage is added, by message id."""
    queues: defaultdict[str, MessageQueue] = field(
        default_factory=lambda: defaultdict(MessageQueue)
    )
    """By session."""
    skill_calls: SkillCalls = field(default_factory=SkillCalls)

    @property
    def counts(self) -> ParseCounts:
        return self.builder.counts

    def read(self, row: ClaudeRow, span: SourceSpan) -> SkipReason | None:
        """Read a row; return the reason if it added nothing to a turn."""
        self.cwd = self.cwd or row.cwd
        if is_sidechain(row):
            return read_sidechain(row, self.builder)
        self.sessions.enter(row)
        if row.type == "queue-operation":
            return self._read_queue(row, span)
        if row.type in MESSAGE_TYPES:
            return self._read_message(row, span)
        if row.attachment is not None:
            return self._read_attachment(row, row.attachment, span)
        if row.type == "system" and isinstance(row.content, str):
            self._close_at_exit_command(row, row.content)
        return _SKIPPED.get(row.type or "", _OTHER)

    def finish(self) -> ParsedArchive:
        for queue in self.queues.values():
            queue.count(self.counts)
        return self.builder.finish(self.sessions.last, self.cwd)

    def _read_message(self, row: ClaudeRow, span: SourceSpan) -> SkipReason | None:
        if row.message is None or row.message.content is None:
            return SkipReason.EMPTY_MESSAGE
        if self._is_duplicate(row):
            return SkipReason.DUPLICATE
        if row.type == "assistant":
            return self._read_assistant(row, row.message, span)
        return self._read_user(row, row.message, span)

    def _is_duplicate(self, row: ClaudeRow) -> bool:
        native_id = _native_id(row)
        if native_id is None:
            return False
        is_duplicate = native_id in self.seen
        self.seen.add(native_id)
        return is_duplicate

    def _extend(self, turn: RawTurn, row: ClaudeRow, span: SourceSpan) -> None:
        extend(turn, span, parse_timestamp(row.timestamp))
        turn.cwd = row.cwd or turn.cwd
        turn.git_branch = row.git_branch or turn.git_branch
        turn.app_version = row.version or turn.app_version

    def _read_queue(self, row: ClaudeRow, span: SourceSpan) -> SkipReason | None:
        """Follow the queue of messages typed while the agent works; delivered ones are steering."""
        blocks = blocks_of_any(row.content)
        text = None if blocks is None else text_of(blocks)
        queue = self.queues[self.sessions.session(row)]
        delivered = queue.apply(row.operation, text, row.reason, row.command_uuid)
        return self._add_steering([delivered], row, span) if delivered else SkipReason.QUEUE

    def _read_attachment(
        self, row: ClaudeRow, attachment: ClaudeAttachment, span: SourceSpan
    ) -> SkipReason | None:
        """Read text that the user typed while the agent worked; skip other attachments."""
        if not is_typed(attachment):
            return SkipReason.ATTACHMENT
        if self._is_duplicate(row):
            return SkipReason.DUPLICATE
        text = text_of(blocks_of(attachment.prompt))
        queue = self.queues[self.sessions.session(row)]
        delivered = queue.attach(text, attachment.source_uuid)
        return self._add_steering([delivered], row, span) if delivered else SkipReason.QUEUE

    def _add_steering(
        self, texts: list[str], row: ClaudeRow, span: SourceSpan
    ) -> SkipReason | None:
        steering = [text for text in map(machine_text.without_context, texts) if text.strip()]
        steering = [text for text in steering if machine_text.skip_reason(text) is None]
        if not steering:
            return SkipReason.QUEUE
        turn = self.sessions.turn(row)
        self.builder.add_steering(turn, steering)
        if turn is None:
            return SkipReason.PREAMBLE
        self._extend(turn, row, span)
        return None

    def _read_assistant(
        self, row: ClaudeRow, message: ClaudeMessage, span: SourceSpan
    ) -> SkipReason | None:
        turn = self.sessions.turn(row)
        blocks = blocks_of(message.content)
        self.skill_calls.start_message(message.id)
        if turn is None or message.model == SYNTHETIC or row.is_api_error_message:
            self.counts.tool_calls += count_calls(blocks)
            return SkipReason.PREAMBLE if turn is None else self._read_synthetic(turn, row, span)
        self._extend(turn, row, span)
        turn.closed_by = None
        turn.model = message.model or turn.model
        for block in blocks:
            if block.type == "tool_use":
                self._add_call(turn, block)
            elif block.type == "text" and (text := block.text) and machine_text.is_agent_text(text):
                turn.assistant_texts.append(text)
        self._add_usage(turn, row, message)
        return None

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
        if call.name in _SUBAGENTS and isinstance(block.input, dict):
            add_subagent_prompt(turn, block.input.get("prompt"))

    def _add_usage(self, turn: RawTurn, row: ClaudeRow, message: ClaudeMessage) -> None:
        """Add the usage of an API message to the turn of its first line; other lines repeat it."""
        key, usage = message.id or row.uuid, message.usage
        if key is not None and usage is not None:
            first = self.billed.setdefault(key, turn)
            add_usage(first, key, usage.input_tokens, usage.output_tokens)

    def _read_user(
        self, row: ClaudeRow, message: ClaudeMessage, span: SourceSpan
    ) -> SkipReason | None:
        if row.is_compact_summary or row.is_visible_in_transcript_only:
            return SkipReason.COMPACTION
        blocks = blocks_of(message.content)
        if any(block.type == "tool_result" for block in blocks):
            return self._read_results(row, blocks, span)
        if row.is_meta or row.turn_companion:
            return SkipReason.META
        if is_by_machine(row):
            self.queues[self.sessions.session(row)].match_machine_prompt()
            return SkipReason.NOTIFICATION
        rest = [block for block in blocks if not machine_text.is_interrupt(block.text or "")]
        if len(rest) == len(blocks):
            return self._read_text(row, text_of(blocks), span)
        reason = self._interrupt(row, span, SkipReason.PREAMBLE)
        text = text_of([block for block in rest if block.type == "text"])
        return self._read_text(row, text, span) if text else reason

    def _read_text(self, row: ClaudeRow, text: str, span: SourceSpan) -> SkipReason | None:
        if not text:
            return SkipReason.NO_TEXT
        if self.skill_calls.pop(machine_text.command_name(text)):
            return SkipReason.SKILL_CALL
        prompt = machine_text.typed_command(text)
        self.queues[self.sessions.session(row)].match_prompt(prompt)
        reason = machine_text.skip_reason(prompt)
        if reason is None:
            self._open_turn(row, prompt, span)
        elif reason is SkipReason.HOOK:
            return self._interrupt(row, span, reason)
        else:
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
        self, row: ClaudeRow, blocks: list[ClaudeBlock], span: SourceSpan
    ) -> SkipReason | None:
        turn, time = self.sessions.turn(row), parse_timestamp(row.timestamp)
        has_answer, texts = False, []
        for block in blocks:
            if block.type == "tool_result":
                answer = self._complete_call(block, time)
                self.builder.add_answer(turn, answer)
                has_answer = has_answer or answer is not None
            elif block.type == "text" and block.text and not row.is_meta:
                texts.append(block.text)
        if not has_answer and row.user_feedback and row.user_feedback.strip():
            self.builder.add_answer(turn, row.user_feedback)
        if texts:
            self._read_texts_beside_results(texts, row, span)
        if turn is None:
            return SkipReason.PREAMBLE
        self._extend(turn, row, span)
        return None

    def _read_texts_beside_results(
        self, texts: list[str], row: ClaudeRow, span: SourceSpan
    ) -> None:
        """Add steering, and close the turn at an interrupt. Announced skills are neither."""
        if any(map(self.skill_calls.pop, map(machine_text.command_name, texts))):
            return
        interrupts = [text for text in texts if machine_text.is_interrupt(text)]
        self._add_steering([text for text in texts if text not in interrupts], row, span)
        turn = self.sessions.turn(row)
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

    def _open_turn(self, row: ClaudeRow, text: str, span: SourceSpan) -> None:
        session = self.sessions.session(row)
        turn = self.builder.open(
            text,
            span,
            parse_timestamp(row.timestamp),
            session=session,
            native_id=_native_id(row),
            prompt_id=_native_id(row),
            previous=self.sessions.turn(row),
        )
        turn.parent_session_id, turn.agent_id = self.sessions.parent(session), row.agent_id
        self._extend(turn, row, span)
        self.sessions.open(turn)


def _native_id(row: ClaudeRow) -> str | None:
    """Return the id of a row; of a row that a fork copied under a new id, that of the original."""
    origin = row.forked_from.message_uuid if row.forked_from is not None else None
    return origin or row.uuid
