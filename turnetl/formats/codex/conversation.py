"""The turns of one rollout as they come about: prompts, answers, calls, and how they end."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from turnetl.formats.base import ParseCounts, RawToolCall, RawTurn, SourceSpan, parse_time
from turnetl.formats.codex import authorship, tools
from turnetl.formats.codex.assistant_text import Said
from turnetl.formats.codex.rows import Item, Row, Usage
from turnetl.formats.codex.sessions import Sessions, is_unique
from turnetl.formats.codex.tasks import Task
from turnetl.model import ClosedBy, SessionId
from turnetl.skip_reasons import SkipReason


@dataclass(slots=True)
class Conversation:
    """What takes something returns None if it gave something to a turn, else the reason."""

    counts: ParseCounts = field(default_factory=ParseCounts)
    turns: list[RawTurn] = field(default_factory=list)
    cwd: str | None = None
    """The first folder named."""
    sessions: Sessions = field(default_factory=Sessions)
    task: Task = field(default_factory=Task)
    known: Item = field(default_factory=Item)
    """What was last said of folder, model, branch and version."""
    _news: bool = True
    """Whether the turn does not know all of that yet."""
    _said: Said = field(default_factory=lambda: Said([]))
    _calls: dict[str, RawToolCall] = field(default_factory=dict)
    """Calls by their ids: what came of them stands in a later row."""
    _named: Counter[str] = field(default_factory=Counter)
    """Prompts, by the id of their task."""
    _written: datetime | None = None
    """The time on the row of the last prompt."""
    _dated: datetime | None = None
    """The time in the last id that held one."""
    _billed: Usage | None = None
    """Of all requests so far."""

    @property
    def turn(self) -> RawTurn | None:
        """The turn that goes on, or None before the first prompt."""
        return self.turns[-1] if self.turns else None

    @property
    def fresh(self) -> RawTurn | None:
        """The turn that goes on, if the agent has done nothing in it."""
        turn = self.turn
        acted = (
            turn is None or turn.assistant_texts or turn.tool_calls or turn.closed_by is not None
        )
        return None if acted else turn

    def see(self, item: Item) -> None:
        """Note folder, model, branch and version."""
        known, self._news = self.known, True
        self.cwd = self.cwd or item.cwd
        known.cwd = item.cwd or known.cwd
        known.model = item.model or known.model
        known.git = item.git or known.git
        known.cli_version = item.cli_version or known.cli_version

    def touch(self, row: Row, place: SourceSpan) -> SkipReason | None:
        """Let the turn reach as far as this row."""
        turn, known = self.turn, self.known
        if turn is None:
            return SkipReason.PREAMBLE
        turn.last_line, turn.last_byte = place.last_line, place.end
        turn.ended_at = self.time(row) or turn.ended_at
        if self._news:
            self._tell(turn, known)
        return None

    def time(self, row: Row) -> datetime | None:
        """Return the row's time; None on a copy, which has that of the copying."""
        return None if self.sessions.replaying else parse_time(row.timestamp)

    def date(self, row: Row) -> None:
        """Date the turn by the id of an item that has no time of its own."""
        turn, made = self.turn, self.sessions.dated(row.id)
        if turn is None or made is None:
            return
        if turn.ended_at is None and turn.started_at == self._written:
            turn.started_at = made
        turn.ended_at = self._dated = made

    def prompt(
        self,
        row: Row,
        text: str,
        place: SourceSpan,
        *,
        image: bool = False,
        turn_id: str | None = None,
    ) -> SkipReason | None:
        """Start a turn, and end the one before it."""
        text = authorship.request(text) or (authorship.IMAGE if image else "")
        if not text:
            return SkipReason.NO_TEXT
        before = self.turn
        if before is not None and before.closed_by is not ClosedBy.INTERRUPTED:
            before.closed_by = ClosedBy.NEXT_PROMPT
        self._said.finish()
        self.counts.steering += self.task.hear()
        turn = RawTurn("", SessionId(""), 0, text, place.line, place.line, place.start, place.end)
        self.turns.append(turn)
        self._said, self._news = Said(turn.assistant_texts), True
        # A bare row has no time of its own: it is not older than what was dated last.
        bare = (self._dated or self.sessions.start) if row.payload is None else None
        self._written = parse_time(row.timestamp) or bare
        self._locate(turn, None)
        self.name(turn_id or self.task.turn_id)
        return self.touch(row, place)

    def name(self, turn_id: str | None) -> None:
        """Give the last prompt the id of its task, if it has none and the id is one for all."""
        turn = self.turn
        if turn is None or turn.native_id or turn_id is None or not is_unique(turn_id):
            return
        count, self._named[turn_id] = self._named[turn_id], self._named[turn_id] + 1
        turn.native_id = f"{turn_id}:{count}" if count else turn_id
        turn.prompt_id = turn_id
        self._locate(turn, turn_id)

    def answer(self, row: Row, text: str, way: str, place: SourceSpan) -> SkipReason | None:
        """Take what the agent said."""
        turn = self.turn
        if turn is None:
            return SkipReason.PREAMBLE
        if not text.strip():
            return SkipReason.NO_TEXT
        new = self._said.hear(text, way, place.line)
        turn.closed_by = None if new else turn.closed_by
        self.touch(row, place)
        return None if new else SkipReason.DUPLICATE

    def beside(self, row: Row, text: str, place: SourceSpan) -> SkipReason | None:
        """Take what may be part of what the agent says besides."""
        self._said.add_beside(text)
        return self.touch(row, place)

    def call(self, row: Row, item: Item, place: SourceSpan) -> SkipReason | None:
        """Take a call of a tool."""
        self.counts.tool_calls += 1
        turn = self.turn
        if turn is None:
            return SkipReason.PREAMBLE
        tool, size = tools.use(item)
        turn.tool_calls.append(tool)
        turn.input_chars += size
        turn.closed_by = None
        if (key := item.call_id or item.id) is not None:
            self._calls[key] = tool
        prompt = tools.subagent(item)
        turn.subagent_prompts += [prompt] if prompt is not None else []
        return self.touch(row, place)

    def result(self, row: Row, item: Item, place: SourceSpan) -> SkipReason | None:
        """Take what came of a call, and what a person answered by way of it."""
        tool = self._calls.get(item.call_id or item.id or "")
        if tool is not None and self.turn is not None:
            tool.result, failed = tools.outcome(item)
            tool.is_error = tool.is_error or failed
            tool.ended_at = self.time(row)
            answer = tools.answer(tool, item)
            self.turn.user_answers += [answer] if answer is not None else []
            self.counts.user_answers += answer is not None
        return self.touch(row, place)

    def call_ended(self, row: Row, event: Item, place: SourceSpan) -> SkipReason | None:
        """Take an event that tells of the end of a call."""
        tool = self._calls.get(event.call_id or event.id or "")
        if tool is None:
            return SkipReason.EVENT
        tools.ended(tool, event)
        return self.touch(row, place)

    def billed_already(self, total: Usage | None) -> bool:
        """Say whether the sum of all requests is the same as it was."""
        before, self._billed = self._billed, total or self._billed
        return total is not None and total == before

    def bill(self, request: str | None, usage: Usage) -> SkipReason | None:
        """Count the tokens of a request."""
        turn = self.turn
        if turn is None:
            return SkipReason.PREAMBLE
        key = request or f"request {len(turn.usage)}"
        turn.usage[key] = usage.input_tokens or 0, usage.output_tokens or 0
        return None

    def finish(self) -> None:
        """Complete the last turn at the end of the archive."""
        self._said.finish()

    def _tell(self, turn: RawTurn, known: Item) -> None:
        """Let the turn know what was last said of folder, model, branch and version."""
        self._news = False
        turn.cwd = known.cwd or turn.cwd
        turn.model = known.model or turn.model
        turn.app_version = known.cli_version or turn.app_version
        turn.git_branch = (known.git and known.git.branch) or turn.git_branch

    def _locate(self, turn: RawTurn, turn_id: str | None) -> None:
        session, turn.started_at = self.sessions.of(turn_id, self._written)
        turn.session_id = SessionId(session)
        turn.parent_session_id = self.sessions.parent(session)
