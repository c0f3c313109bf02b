"""The builder of turns that every format uses: it opens, extends, closes and identifies them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from turnetl.base import ids
from turnetl.base.model import ClosedBy, SessionId
from turnetl.formats.kit.counts import MAX_ROWS, TooManyRows
from turnetl.formats.kit.usage import SubagentMessages
from turnetl.formats.port import ParseCounts, ParsedArchive, RawToolCall, RawTurn, SourceSpan


@dataclass(slots=True)
class TurnBuilder:
    """Builds the turns of one archive or one conversation, in order, and counts their content."""

    counts: ParseCounts = field(default_factory=ParseCounts)
    turns: list[RawTurn] = field(default_factory=list)
    calls: dict[str, RawToolCall] = field(default_factory=dict)
    """Tool calls by id: the result of a call may be in a later row."""
    subagents: SubagentMessages = field(default_factory=SubagentMessages)
    """Messages in no turn: of subagents, and of the session before its first prompt."""

    @property
    def current(self) -> RawTurn | None:
        """The turn opened last, or None before the first prompt."""
        return self.turns[-1] if self.turns else None

    def open(
        self,
        text: str,
        span: SourceSpan,
        started_at: datetime | None = None,
        *,
        session: str | None = None,
        native_id: str | None = None,
        prompt_id: str | None = None,
        previous: RawTurn | None = None,
    ) -> RawTurn:
        """Open a turn at its prompt, and close `previous`; `TooManyRows` after `MAX_ROWS`."""
        if self.counts.turns >= MAX_ROWS:
            raise TooManyRows
        self.counts.turns += 1
        if previous is not None:
            close_by_prompt(previous)
        turn = RawTurn(
            native_id=native_id or "",
            session_id=SessionId(session or ""),
            ordinal=len(self.turns),
            user_text=text,
            first_line=span.line,
            last_line=span.last_line,
            first_byte=span.start,
            last_byte=span.end,
            prompt_id=prompt_id,
            started_at=started_at,
        )
        self.turns.append(turn)
        return turn

    def take_back_last(self) -> None:
        """Remove the last turn, whose rows turned out to repeat another turn."""
        self.turns.pop()
        self.counts.turns -= 1

    def add_steering(self, turn: RawTurn | None, texts: Sequence[str]) -> None:
        """Add and count texts that the user typed while the agent worked. None: only count."""
        self.counts.steering += len(texts)
        if turn is not None:
            turn.steering += texts

    def add_answer(self, turn: RawTurn | None, answer: str | None) -> None:
        """Add and count an answer that the user gave through a tool result, if there is one."""
        if answer is None:
            return
        self.counts.user_answers += 1
        if turn is not None:
            turn.user_answers.append(answer)

    def add_call(
        self, turn: RawTurn, call: RawToolCall, input_chars: int, key: str | None = None
    ) -> None:
        """Add and count a tool call. By its key, `calls` gives it to the row with its result."""
        self.counts.tool_calls += 1
        turn.tool_calls.append(call)
        turn.input_chars += input_chars
        if key is not None:
            self.calls[key] = call

    def finish(self, session: str | None, cwd: str | None) -> ParsedArchive:
        """Complete the ids of the turns. `session` is the id for turns that have none."""
        self.counts.turns = len(self.turns)
        assign_session_ids(self.turns, session)
        usage = self.subagents.usage() or (() if self.counts.sidechain_rows else None)
        return ParsedArchive(self.turns, self.counts, cwd, usage)


def extend(turn: RawTurn, span: SourceSpan, time: datetime | None = None) -> None:
    """Extend a turn to a row, and to the time of the row if it has one that is not before it."""
    if span.end > turn.last_byte:
        turn.last_line, turn.last_byte = span.last_line, span.end
    if time is not None and (turn.started_at is None or time >= turn.started_at):
        turn.ended_at = time


def add_subagent_prompt(turn: RawTurn, prompt: object) -> None:
    """Add the prompt that a tool call gives to a subagent, if it is a text."""
    if isinstance(prompt, str):
        turn.subagent_prompts.append(prompt)


def close_by_prompt(turn: RawTurn) -> None:
    """Close a turn because of the next prompt. An interrupted turn stays interrupted."""
    if turn.closed_by is not ClosedBy.INTERRUPTED:
        turn.closed_by = ClosedBy.NEXT_PROMPT


def assign_session_ids(turns: Sequence[RawTurn], session: str | None) -> None:
    """Complete the ids of an archive's turns, given in order.

    A turn without a session gets `session`. If that is None, the id is derived from the first such
    turn's prompt and start, so that it stays the same while the archive grows. Ordinals are set for
    each session. A turn without a native id gets one of session and ordinal.
    """
    lengths: Counter[str] = Counter()
    for turn in turns:
        if not turn.session_id:
            session = session or derived_session_id(turn.user_text, str(turn.started_at or ""))
            turn.session_id = SessionId(session)
        turn.ordinal = lengths[turn.session_id]
        lengths[turn.session_id] += 1
        turn.native_id = turn.native_id or f"{turn.session_id}:{turn.ordinal}"


def derived_session_id(*texts: str | bytes) -> str:
    """Return a session id that is a digest of texts of the session, or of their UTF-8."""
    return f"derived-{ids.digest(*texts)}"
