"""The turns of a Gemini CLI session, message by message."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from turnetl.formats.base import ParseCounts, RawToolCall, RawTurn, parse_time
from turnetl.formats.gemini import authorship
from turnetl.formats.gemini.history import Message
from turnetl.formats.gemini.outcomes import FAILED, outcome_of, response_text, responses_in
from turnetl.formats.gemini.rows import (
    Response,
    Row,
    ToolCall,
    calls_of,
    parts_of,
    texts_of,
)
from turnetl.formats.kit.tool_input import compact_json, format_input
from turnetl.model import ClosedBy, SessionId
from turnetl.skip_reasons import SkipReason

_SUBAGENTS = ("invoke_agent", "delegate_to_agent", "codebase_investigator")
_TASKS = ("prompt", "objective", "query", "task")
_CANCELLED = "cancelled"
_NOTICES = {
    "info": SkipReason.INFO,
    "warning": SkipReason.WARNING,
    "error": SkipReason.ERROR,
}


@dataclass(slots=True)
class Reader:
    """Walks the messages in the order in which they were first written."""

    note: Callable[[int, SkipReason | None], None]
    """Is told what became of each row, by its number."""
    counts: ParseCounts = field(default_factory=ParseCounts)
    turns: list[RawTurn] = field(default_factory=list)
    uses: dict[str, RawToolCall] = field(default_factory=dict)
    """Calls by their ids: a call that is written again is the same."""
    open_uses: dict[str, RawToolCall] = field(default_factory=dict)
    """Those of the calls that nothing came of so far."""
    command: tuple[Message, str] | None = None
    """What may be a command of the client's; if the model answers it was none."""

    def take(self, message: Message) -> None:
        """Take what a message holds, and say what became of its row."""
        self.note(message.number, self._taken(message))

    def _taken(self, message: Message) -> SkipReason | None:
        if message.is_sidechain:
            return self._sidechain(message.row)
        if message.is_copy:
            return SkipReason.COPY
        if message.row.type == "user":
            return self._user(message)
        if message.row.type in _NOTICES:
            return self._notice(message)
        return self._spoken(message)

    def _sidechain(self, row: Row) -> SkipReason:
        self.counts.sidechain_rows += 1
        self.counts.tool_calls += len(calls_of(row))
        return SkipReason.SIDECHAIN

    def _user(self, message: Message) -> SkipReason | None:
        row = message.row
        if responses := responses_in(row.content):
            given = [self._respond(response, row.timestamp) for response in responses]
            steered = self._steer(message)
            return None if steered or any(given) else SkipReason.TOOL_RESULT
        text, reason = authorship.prompt(row)
        if not text:
            return reason
        if row.display_content is None and authorship.is_command(text):
            return self._command(message, text)
        self._prompt(message, text)
        return None

    def _respond(self, response: Response, timestamp: str | None) -> bool:
        """Give an outcome to its call if the call's own record lacks it."""
        use = self.open_uses.pop(response.id or "", None)
        if use is None:
            return False
        use.result, use.is_error = response_text(response)
        use.ended_at = parse_time(timestamp)
        return True

    def _steer(self, message: Message) -> bool:
        said = authorship.steering(message.row.content)
        self.counts.steering += len(said)
        if self.turns and said:
            self.turns[-1].steering += said
            self._touch(self.turns[-1], message)
        return bool(self.turns and said)

    def _command(self, message: Message, text: str) -> SkipReason:
        self.command = message, text
        turn = self.turns[-1] if self.turns else None
        if turn is not None and turn.closed_by is None and authorship.is_leaving(text):
            turn.closed_by = ClosedBy.SESSION_END
        return SkipReason.LOCAL_COMMAND

    def _notice(self, message: Message) -> SkipReason | None:
        if not self.turns or not authorship.is_interrupt(message.row):
            return _NOTICES[message.row.type or ""]
        self._touch(self.turns[-1], message)
        self.turns[-1].closed_by = ClosedBy.INTERRUPTED
        return None

    def _spoken(self, message: Message) -> SkipReason | None:
        row = message.row
        calls = [
            format_input
            for format_input in calls_of(row)
            if format_input.id is None or format_input.id not in self.uses
        ]
        texts = texts_of(row.content) + texts_of(row.parts)
        said = [text for text in texts if not authorship.is_canned(text)]
        is_made_up = _is_made_up(row, said, calls)
        if self.command is not None and not is_made_up:
            self.note(self.command[0].number, None)
            self._prompt(*self.command)
        self.counts.tool_calls += len(calls)
        if not self.turns:
            self._remember(calls)
            return SkipReason.PREAMBLE
        if is_made_up:
            return SkipReason.SYNTHETIC
        self._answered(self.turns[-1], message, said, calls)
        return None

    def _remember(self, calls: list[ToolCall]) -> None:
        self.uses |= {
            one.id: RawToolCall(one.name or "", "") for one in calls if one.id is not None
        }

    def _answered(
        self, turn: RawTurn, message: Message, said: list[str], calls: list[ToolCall]
    ) -> None:
        row = message.row
        self._touch(turn, message)
        turn.model = row.model or turn.model
        turn.assistant_texts += said
        for one in calls:
            self._use(turn, one)
        if calls and all(one.status == _CANCELLED for one in calls):
            turn.closed_by = ClosedBy.INTERRUPTED
        elif said or calls:
            turn.closed_by = None
        if row.tokens is not None:
            key = row.id or str(message.number)
            turn.usage[key] = row.tokens.input or 0, row.tokens.output or 0

    def _use(self, turn: RawTurn, one: ToolCall) -> None:
        outcome, failed = outcome_of(one)
        tool = RawToolCall(
            one.name or "", format_input(one.args), outcome, failed, parse_time(one.timestamp)
        )
        turn.tool_calls.append(tool)
        turn.ended_at = _latest(turn.ended_at, tool.ended_at)
        turn.input_chars += len(compact_json(one.args))
        turn.subagent_prompts += _task(one)
        if one.id is not None:
            self.uses[one.id] = tool
            if one.result is None and one.status not in FAILED:
                self.open_uses[one.id] = tool
        if (said := authorship.answer(one.name, one.args, outcome)) is not None:
            self.counts.user_answers += 1
            turn.user_answers.append(said)

    def _touch(self, turn: RawTurn, message: Message) -> None:
        turn.last_line = max(turn.last_line, message.end.last_line)
        turn.last_byte = max(turn.last_byte, message.end.end)
        turn.ended_at = _latest(turn.ended_at, parse_time(message.row.timestamp))

    def _prompt(self, message: Message, text: str) -> None:
        """Start a turn, and end the one before it."""
        self.command = None
        if self.turns and self.turns[-1].closed_by is not ClosedBy.INTERRUPTED:
            self.turns[-1].closed_by = ClosedBy.NEXT_PROMPT
        turn = RawTurn(
            native_id=message.native_id,
            session_id=SessionId(message.session),
            ordinal=0,
            user_text=text,
            first_line=message.place.line,
            last_line=message.place.last_line,
            first_byte=message.place.start,
            last_byte=message.place.end,
            prompt_id=message.row.id,
            started_at=parse_time(message.row.timestamp),
        )
        self._touch(turn, message)
        self.turns.append(turn)


def _is_made_up(row: Row, said: list[str], calls: list[ToolCall]) -> bool:
    """Say whether a message holds nothing of a model's, or only what was there before."""
    if said or calls or row.model is not None or row.tokens is not None:
        return False
    return bool(texts_of(row.content) or any(part.function_call for part in parts_of(row.content)))


def _task(one: ToolCall) -> list[str]:
    """Return the prompt that a call gives to a subagent, if it does."""
    if one.name not in _SUBAGENTS and one.agent_id is None:
        return []
    arguments = one.args if isinstance(one.args, dict) else {}
    tasks = (arguments.get(key) for key in _TASKS)
    return [task for task in tasks if isinstance(task, str)][:1]


def _latest(before: datetime | None, now: datetime | None) -> datetime | None:
    return max((time for time in (before, now) if time is not None), default=None)
