"""The turns of one Claude Code archive, row by row.

File order is the order: timestamps go backwards, and parents may lie in other files.
"""

from dataclasses import dataclass, field
from datetime import datetime

from turnetl.formats.base import (
    ParseCounts,
    ParsedArchive,
    RawToolCall,
    RawTurn,
    SourceSpan,
    parse_time,
)
from turnetl.formats.claude import machine_text
from turnetl.formats.claude.authorship import is_by_machine, is_typed, text_of
from turnetl.formats.claude.queue import Queue
from turnetl.formats.claude.rows import Attachment, Block, Message, Row, blocks_of, flat, loose
from turnetl.formats.claude.sessions import Sessions
from turnetl.formats.claude.skill_calls import Launches
from turnetl.formats.kit.session_ids import assign_session_ids
from turnetl.formats.kit.tool_input import compact_json, format_input
from turnetl.model import ClosedBy, SessionId
from turnetl.skip_reasons import SkipReason

SPEAKING = ("user", "assistant")
_SILENT = {
    "progress": SkipReason.PROGRESS,
    "file-history-snapshot": SkipReason.SNAPSHOT,
    "summary": SkipReason.SUMMARY,
    "system": SkipReason.SYSTEM,
}
_SYNTHETIC = "<synthetic>"
_SUBAGENTS = ("Task", "Agent")


@dataclass(slots=True)
class Reader:
    """Walks the rows in file order."""

    counts: ParseCounts = field(default_factory=ParseCounts)
    turns: list[RawTurn] = field(default_factory=list)
    cwd: str | None = None
    sessions: Sessions = field(default_factory=Sessions)
    seen: set[str] = field(default_factory=set)
    """The keys of the rows that spoke: a row that comes again says nothing new."""
    uses: dict[str, RawToolCall] = field(default_factory=dict)
    """Calls by their keys: an outcome comes in a later row."""
    billed: dict[str, RawTurn] = field(default_factory=dict)
    """The turn that an API message counts for, by its id."""
    queue: Queue = field(default_factory=Queue)
    launches: Launches = field(default_factory=Launches)

    def take(self, row: Row, place: SourceSpan) -> SkipReason | None:
        """Take what the row holds; return the reason if that is nothing for a turn."""
        self.cwd = self.cwd or row.cwd
        if row.is_sidechain or row.parent_tool_use_id:
            return self._sidechain(row)
        self.sessions.enter(row)
        if row.type == "queue-operation":
            return self._queued(row, place)
        if row.type in SPEAKING:
            return self._spoken(row, place)
        if row.attachment is not None:
            return self._attached(row, row.attachment, place)
        if row.type == "system" and isinstance(row.content, str):
            self._leave(row, row.content)
        return _SILENT.get(row.type or "", SkipReason.OTHER)

    def reading(self) -> ParsedArchive:
        self.counts.turns = len(self.turns)
        assign_session_ids(self.turns, self.sessions.last)
        return ParsedArchive(self.turns, self.counts, self.cwd)

    def _spoken(self, row: Row, place: SourceSpan) -> SkipReason | None:
        if row.message is None or row.message.content is None:
            return SkipReason.EMPTY_MESSAGE
        if self._is_repeated(row):
            return SkipReason.DUPLICATE
        if row.type == "assistant":
            return self._assistant(row, row.message, place)
        return self._user(row, row.message, place)

    def _is_repeated(self, row: Row) -> bool:
        if row.uuid is None:
            return False
        known = row.uuid in self.seen
        self.seen.add(row.uuid)
        return known

    def _sidechain(self, row: Row) -> SkipReason:
        self.counts.sidechain_rows += 1
        if row.type == "assistant" and row.message is not None:
            uses = [block for block in blocks_of(row.message.content) if block.type == "tool_use"]
            self.counts.tool_calls += len(uses)
        return SkipReason.SIDECHAIN

    def _touch(self, turn: RawTurn, row: Row, place: SourceSpan) -> None:
        turn.last_line, turn.last_byte = place.last_line, place.end
        turn.ended_at = parse_time(row.timestamp) or turn.ended_at
        turn.cwd = row.cwd or turn.cwd
        turn.git_branch = row.git_branch or turn.git_branch
        turn.app_version = row.version or turn.app_version

    def _queued(self, row: Row, place: SourceSpan) -> SkipReason | None:
        """Follow the queue of messages typed while the agent works: what leaves it is said."""
        blocks = loose(row.content)
        text = None if blocks is None else text_of(blocks)
        said = self.queue.follow(row.operation, text, row.reason, row.command_uuid)
        return self._steer([said], row, place) if said else SkipReason.QUEUE

    def _attached(self, row: Row, given: Attachment, place: SourceSpan) -> SkipReason | None:
        """Take the words of a person that reached the agent in its work; skip all else."""
        if not is_typed(given):
            return SkipReason.ATTACHMENT
        if self._is_repeated(row):
            return SkipReason.DUPLICATE
        said = self.queue.attach(text_of(blocks_of(given.prompt)), given.source_uuid)
        return self._steer([said], row, place) if said else SkipReason.QUEUE

    def _steer(self, texts: list[str], row: Row, place: SourceSpan) -> SkipReason | None:
        said = [text for text in map(machine_text.without_context, texts) if text.strip()]
        said = [text for text in said if machine_text.machine(text) is None]
        self.counts.steering += len(said)
        turn = self.sessions.turn(row)
        if not said:
            return SkipReason.QUEUE
        if turn is None:
            return SkipReason.PREAMBLE
        turn.steering += said
        self._touch(turn, row, place)
        return None

    def _assistant(self, row: Row, message: Message, place: SourceSpan) -> SkipReason | None:
        turn = self.sessions.turn(row)
        blocks = blocks_of(message.content)
        self.launches.speak(message.id)
        if turn is None or message.model == _SYNTHETIC or row.is_api_error_message:
            self.counts.tool_calls += sum(block.type == "tool_use" for block in blocks)
            return SkipReason.PREAMBLE if turn is None else self._synthetic(turn, row, place)
        self._touch(turn, row, place)
        turn.closed_by = None
        turn.model = message.model or turn.model
        for block in blocks:
            if block.type == "tool_use":
                self._use(turn, block)
            elif block.type == "text" and (text := block.text) and machine_text.is_said(text):
                turn.assistant_texts.append(text)
        self._bill(turn, row, message)
        return None

    def _synthetic(self, turn: RawTurn, row: Row, place: SourceSpan) -> SkipReason | None:
        """Words that the client put into the model's mouth; an API error ended the turn."""
        if not row.is_api_error_message:
            return SkipReason.SYNTHETIC
        self._touch(turn, row, place)
        turn.closed_by = ClosedBy.INTERRUPTED
        return None

    def _use(self, turn: RawTurn, block: Block) -> None:
        self.counts.tool_calls += 1
        tool = RawToolCall(block.name or "", format_input(block.input))
        turn.tool_calls.append(tool)
        self.launches.call(tool)
        turn.input_chars += len(compact_json(block.input))
        if block.id is not None:
            self.uses[block.id] = tool
        if tool.name in _SUBAGENTS and isinstance(block.input, dict):
            prompt = block.input.get("prompt")
            turn.subagent_prompts += [prompt] if isinstance(prompt, str) else []

    def _bill(self, turn: RawTurn, row: Row, message: Message) -> None:
        """Count an API message once, though it spans lines that repeat its usage, growing."""
        key = message.id or row.uuid
        if key is None or message.usage is None:
            return
        usage = self.billed.setdefault(key, turn).usage
        before = usage.get(key, (0, 0))
        given = message.usage.input_tokens or 0, message.usage.output_tokens or 0
        usage[key] = max(before[0], given[0]), max(before[1], given[1])

    def _user(self, row: Row, message: Message, place: SourceSpan) -> SkipReason | None:
        if row.is_compact_summary or row.is_visible_in_transcript_only:
            return SkipReason.COMPACTION
        blocks = blocks_of(message.content)
        if any(block.type == "tool_result" for block in blocks):
            return self._results(row, blocks, place)
        if row.is_meta or row.turn_companion:
            return SkipReason.META
        if is_by_machine(row):
            return SkipReason.NOTIFICATION
        spoken = [block for block in blocks if not machine_text.is_interrupt(block.text or "")]
        if len(spoken) == len(blocks):
            return self._words(row, text_of(blocks), place)
        reason = self._close(row, place, ClosedBy.INTERRUPTED, SkipReason.PREAMBLE)
        text = text_of([block for block in spoken if block.type == "text"])
        return self._words(row, text, place) if text else reason

    def _words(self, row: Row, text: str, place: SourceSpan) -> SkipReason | None:
        if not text:
            return SkipReason.NO_TEXT
        if self.launches.announced(machine_text.command(text)):
            return SkipReason.SKILL_CALL
        said = machine_text.slash(text)
        self.queue.come(said)
        if reason := machine_text.machine(said):
            return self._machine(row, place, said, reason)
        self._prompt(row, said, place)
        return None

    def _machine(
        self, row: Row, place: SourceSpan, text: str, reason: SkipReason
    ) -> SkipReason | None:
        if reason == "hook":
            return self._close(row, place, ClosedBy.INTERRUPTED, reason)
        self._leave(row, text)
        return reason

    def _leave(self, row: Row, text: str) -> None:
        """End the turn if this is the local command by which a person left."""
        turn = self.sessions.turn(row)
        if turn is not None and turn.closed_by is None and machine_text.is_leaving(text):
            turn.closed_by = ClosedBy.SESSION_END

    def _close(
        self, row: Row, place: SourceSpan, by: ClosedBy, reason: SkipReason
    ) -> SkipReason | None:
        turn = self.sessions.turn(row)
        if turn is None:
            return reason
        self._touch(turn, row, place)
        self.launches.forget()
        turn.closed_by = by
        return None

    def _results(self, row: Row, blocks: list[Block], place: SourceSpan) -> SkipReason | None:
        turn = self.sessions.turn(row)
        time = parse_time(row.timestamp)
        said: list[str] = []
        texts: list[str] = []
        for block in blocks:
            if block.type == "tool_result":
                said += self._result(block, time)
            elif block.type == "text" and block.text and not row.is_meta:
                texts.append(block.text)
        if any(self.launches.announced(machine_text.command(text)) for text in texts):
            texts.clear()
        if not said and row.user_feedback and row.user_feedback.strip():
            said.append(row.user_feedback)
        self.counts.user_answers += len(said)
        if texts:
            self._steer([text for text in texts if not machine_text.is_interrupt(text)], row, place)
        if turn is None:
            return SkipReason.PREAMBLE
        turn.user_answers += said
        if any(map(machine_text.is_interrupt, texts)):
            turn.closed_by = ClosedBy.INTERRUPTED
        self._touch(turn, row, place)
        return None

    def _result(self, block: Block, time: datetime | None) -> list[str]:
        """Give the outcome to its call; return what a person said in it, if anything."""
        outcome = machine_text.without_context(flat(block.content))
        is_error = block.is_error is True
        tool = self.uses.get(block.tool_use_id or "")
        if tool is not None:
            tool.result = machine_text.plain_error(outcome)
            tool.is_error = is_error
            tool.ended_at = time
        answer = machine_text.answer(outcome, is_error=is_error)
        return [] if answer is None else [answer]

    def _prompt(self, row: Row, text: str, place: SourceSpan) -> None:
        """Start a turn, and end the one before it."""
        session = self.sessions.of(row)
        before = self.sessions.turn(row)
        if before is not None and before.closed_by is not ClosedBy.INTERRUPTED:
            before.closed_by = ClosedBy.NEXT_PROMPT
        ordinal = self.sessions.length(session)
        turn = RawTurn(
            native_id=row.uuid or "",
            session_id=SessionId(session),
            ordinal=ordinal,
            user_text=text,
            first_line=place.line,
            last_line=place.last_line,
            first_byte=place.start,
            last_byte=place.end,
            prompt_id=row.uuid,
            parent_session_id=self.sessions.parent(session),
            agent_id=row.agent_id,
            started_at=parse_time(row.timestamp),
        )
        self._touch(turn, row, place)
        self.turns.append(turn)
        self.sessions.begin(turn)
