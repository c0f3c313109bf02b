"""The builder of turns that every format uses: it opens, extends, closes and identifies them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from turnetl.base import ids
from turnetl.base.model import ClosedBy, SessionId
from turnetl.base.text import without_injected
from turnetl.formats.kit.counts import MAX_ROWS, TooManyRows
from turnetl.formats.kit.tool_input import compact_json, format_input
from turnetl.formats.kit.usage import SubagentMessages
from turnetl.formats.port import (
    ParseCounts,
    ParsedArchive,
    RawToolCall,
    RawTurn,
    SourceSpan,
    SubagentStart,
)


@dataclass(slots=True)
class TurnBuilder:
    """Builds the turns of one archive or one conversation, in order, and counts their content."""

    counts: ParseCounts = field(default_factory=ParseCounts)
    turns: list[RawTurn] = field(default_factory=list)
    calls: dict[str, RawToolCall] = field(default_factory=dict)
    """Tool calls by id: the result of a call may be in a later row."""
    subagents: SubagentMessages = field(default_factory=SubagentMessages)
    """Messages in no turn: of subagents, and of the session before its first prompt."""
    runs: dict[str, RawTurn] = field(default_factory=dict)
    """Runs of subagents by native id."""
    starts: dict[str, SubagentStart] = field(default_factory=dict)
    """Calls that start subagents, by their ids."""
    _run_calls: dict[str, RawToolCall] = field(default_factory=dict)

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
        turn = _opened(
            text, span, started_at, session=session, native_id=native_id, ordinal=len(self.turns)
        )
        turn.prompt_id = prompt_id
        self.turns.append(turn)
        return turn

    def take_back_last(self) -> None:
        """Remove the last turn, whose rows turned out to repeat another turn."""
        self.turns.pop()
        self.counts.turns -= 1

    def add_steering(self, turn: RawTurn | None, texts: Sequence[str]) -> None:
        """Add and count texts that the user typed while the agent worked. None: only count."""
        texts = [text for one in texts if (text := without_injected(one))]
        self.counts.steering += len(texts)
        if turn is not None:
            turn.steering += texts
            turn.steering_at += [len(turn.assistant_texts)] * len(texts)

    def add_answer(self, turn: RawTurn | None, answer: str | None) -> None:
        """Add and count an answer that the user gave through a tool result, if there is one."""
        if answer is None:
            return
        self.counts.user_answers += 1
        if turn is not None:
            turn.user_answers.append(answer)
            turn.answers_at.append(len(turn.assistant_texts))

    def add_call(
        self, turn: RawTurn, call: RawToolCall, input_chars: int, key: str | None = None
    ) -> None:
        """Add and count a tool call. By its key, `calls` gives it to the row with its result."""
        self.counts.tool_calls += 1
        call.line = turn.last_line
        turn.tool_calls.append(call)
        turn.input_chars += input_chars
        if key is not None:
            self.calls[key] = call

    def add_start(
        self, turn: RawTurn, prompt: object, call_id: str | None, kind: object = None
    ) -> None:
        """Add a call that starts a subagent, and its prompt if that is a text."""
        if isinstance(prompt, str):
            turn.subagent_prompts.append(prompt)
        start = SubagentStart(call_id, None, kind if isinstance(kind, str) else None)
        turn.subagent_calls.append(start)
        if call_id is not None:
            self.starts[call_id] = start

    def link(
        self,
        turn: RawTurn | None,
        call_id: str | None,
        agent_id: str | None,
        kind: str | None = None,
    ) -> None:
        """Record which subagent a call started. `turn` did so if the call is not known."""
        start = self.starts.get(call_id or "")
        if start is not None:
            start.agent_id = start.agent_id or agent_id
        elif turn is not None and (call_id or agent_id):
            start = SubagentStart(call_id, agent_id, kind)
            self.starts[call_id or f"of {agent_id}"] = start
            turn.subagent_calls.append(start)

    def run(
        self,
        session: str | None,
        agent_id: str,
        span: SourceSpan,
        time: datetime | None,
        *,
        call_id: str | None = None,
        kind: str | None = None,
    ) -> RawTurn:
        """Return the run of a subagent, opened at its first row and extended to this one."""
        key = f"subagent {session or ''} {agent_id}"
        run = self.runs.get(key)
        if run is None:
            if len(self.runs) >= MAX_ROWS:
                raise TooManyRows
            run = self.runs[key] = _opened(
                "", span, time, session=session, native_id=key, ordinal=len(self.runs)
            )
            run.agent_id, run.subagent_type = agent_id, kind or ""
        run.prompt_id = run.prompt_id or call_id
        extend(run, span, time)
        return run

    def add_run_call(
        self, run: RawTurn, name: str | None, arguments: object, span: SourceSpan, key: str | None
    ) -> None:
        """Add a tool call of a subagent, which an archive may repeat under its key."""
        if key is not None and key in self._run_calls:
            return
        call = RawToolCall(name or "", format_input(arguments), line=span.line, arguments=arguments)
        run.tool_calls.append(call)
        run.input_chars += len(compact_json(arguments))
        if key is not None:
            self._run_calls[key] = call

    def add_run_of(
        self, turns: Sequence[RawTurn], session: str | None, agent_id: str, kind: str | None = None
    ) -> None:
        """Add a run that was read like a session: its first turn has the prompt of the run."""
        first = next((turn for turn in turns if turn.user_text), None)
        for turn in turns:
            span = SourceSpan(turn.first_line, turn.last_line, turn.first_byte, turn.last_byte)
            run = self.run(session, agent_id, span, turn.started_at, kind=kind)
            run.user_text = first.user_text if first is not None else ""
            run.assistant_texts = turn.assistant_texts[-1:] or run.assistant_texts
            run.ended_at, run.model = turn.ended_at or run.ended_at, turn.model or run.model
            run.tool_calls += turn.tool_calls
            run.input_chars += turn.input_chars
            run.subagent_prompts += turn.subagent_prompts
            run.subagent_calls += turn.subagent_calls
            run.usage |= turn.usage

    def complete_run_call(
        self, key: str | None, result: str, time: datetime | None, *, is_error: bool
    ) -> None:
        """Add a result to the call of a subagent, if that is known."""
        call = self._run_calls.get(key or "")
        if call is not None:
            call.result, call.is_error, call.ended_at = result, is_error, time

    def finish(self, session: str | None, cwd: str | None) -> ParsedArchive:
        """Complete the ids of the turns. `session` is the id for turns that have none."""
        self.counts.turns = len(self.turns)
        assign_session_ids(self.turns, session)
        usage = self.subagents.usage() or (() if self.counts.sidechain_rows else None)
        runs = [run for run in self.runs.values() if run.user_text or run.tool_calls]
        for run in runs:
            run.session_id = run.session_id or SessionId(session or "")
        return ParsedArchive(self.turns, self.counts, cwd, usage, runs)


def _opened(
    text: str,
    span: SourceSpan,
    time: datetime | None,
    *,
    session: str | None,
    native_id: str | None,
    ordinal: int,
) -> RawTurn:
    return RawTurn(
        native_id=native_id or "",
        session_id=SessionId(session or ""),
        ordinal=ordinal,
        user_text=without_injected(text),
        first_line=span.line,
        last_line=span.last_line,
        first_byte=span.start,
        last_byte=span.end,
        started_at=time,
    )


def extend(turn: RawTurn, span: SourceSpan, time: datetime | None = None) -> None:
    """Extend a turn to a row, and to the time of the row if it has one that is not before it."""
    if span.end > turn.last_byte:
        turn.last_line, turn.last_byte = span.last_line, span.end
    if time is not None and (turn.started_at is None or time >= turn.started_at):
        turn.ended_at = time


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
