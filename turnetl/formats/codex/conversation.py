"""The turns of one rollout, built from prompts, texts, tool calls and events."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from turnetl.formats.base import RawToolCall, RawTurn, parse_time
from turnetl.formats.codex import authorship, tools
from turnetl.formats.codex.assistant_text import AgentTexts, TextSource
from turnetl.formats.codex.rows import CodexEntry, CodexItem, CodexRow
from turnetl.formats.codex.sessions import CodexSessions, is_unique
from turnetl.formats.codex.tasks import CodexTask
from turnetl.formats.kit.turn_builder import TurnBuilder, add_subagent_prompt, add_usage, extend
from turnetl.formats.kit.usage import TokenUsage
from turnetl.model import SessionId
from turnetl.skip_reasons import SkipReason


@dataclass(slots=True)
class CodexConversation:
    """Adds content to turns. Methods return None if a turn got content, else the reason."""

    builder: TurnBuilder = field(default_factory=TurnBuilder)
    turn: RawTurn | None = None
    """The current turn, or None before the first prompt."""
    cwd: str | None = None
    """The first working directory that the rollout names."""
    sessions: CodexSessions = field(default_factory=CodexSessions)
    task: CodexTask = field(default_factory=CodexTask)
    metadata: CodexItem = field(default_factory=CodexItem)
    """The last known folder, model, branch and version."""
    _is_metadata_new: bool = True
    """Whether the metadata is not in the current turn yet."""
    _texts: AgentTexts = field(default_factory=lambda: AgentTexts([]))
    _prompts: Counter[str] = field(default_factory=Counter)
    """Number of prompts, by the id of their task."""
    _prompt_time: datetime | None = None
    """The time on the row of the last prompt."""
    _item_time: datetime | None = None
    """The time in the last id that held one."""
    _total_usage: TokenUsage | None = None
    """Token usage of all requests so far."""
    _subagent_calls: set[str] = field(default_factory=set)
    """Ids of the tool calls of a subagent: a resumed one repeats its rows."""

    @property
    def has_new_turn(self) -> bool:
        """Whether the agent has not done anything in the current turn yet."""
        turn = self.turn
        return turn is not None and not (turn.assistant_texts or turn.tool_calls or turn.closed_by)

    def update_metadata(self, item: CodexItem) -> None:
        """Record folder, model, branch and version."""
        metadata, self._is_metadata_new = self.metadata, True
        self.cwd = self.cwd or item.cwd
        metadata.cwd = item.cwd or metadata.cwd
        metadata.model = item.model or metadata.model
        metadata.git = item.git or metadata.git
        metadata.cli_version = item.cli_version or metadata.cli_version

    def extend(self, entry: CodexEntry) -> SkipReason | None:
        """Extend the current turn to this row."""
        turn = self.turn
        if turn is None:
            return SkipReason.PREAMBLE
        extend(turn, entry.span, self.time(entry.row))
        if self._is_metadata_new:
            self._add_metadata(turn)
        return None

    def time(self, row: CodexRow) -> datetime | None:
        """Return the row's time; None on a copied row, which has the time of the fork."""
        return None if self.sessions.replaying else parse_time(row.timestamp)

    def add_item_time(self, row: CodexRow) -> None:
        """Take the turn's time from the id of an item that has no time of its own."""
        turn, time = self.turn, self.sessions.item_time(row.id)
        if turn is None or time is None:
            return
        if turn.ended_at is None and turn.started_at == self._prompt_time:
            turn.started_at = time
        turn.ended_at = self._item_time = time

    def open_turn(
        self, entry: CodexEntry, text: str, *, has_image: bool = False, turn_id: str | None = None
    ) -> SkipReason | None:
        """Open a turn at a prompt, and close the one before it."""
        text = authorship.without_context(text) or (authorship.IMAGE if has_image else "")
        if not text:
            return SkipReason.NO_TEXT
        self._texts.finish()
        self.builder.counts.steering += self.task.add_prompt()
        turn = self.turn = self.builder.open(text, entry.span, previous=self.turn)
        self._texts, self._is_metadata_new = AgentTexts(turn.assistant_texts), True
        # A row without the envelope has no time of its own; it is not older than the last known.
        known = (self._item_time or self.sessions.start) if entry.row.payload is None else None
        self._prompt_time = parse_time(entry.row.timestamp) or known
        self._assign_session(turn, None)
        self.identify(turn_id or self.task.turn_id)
        return self.extend(entry)

    def identify(self, turn_id: str | None) -> None:
        """Identify the current turn by its task, if it has no id and the task's id is unique."""
        turn = self.turn
        if turn is None or turn.native_id or turn_id is None or not is_unique(turn_id):
            return
        count, self._prompts[turn_id] = self._prompts[turn_id], self._prompts[turn_id] + 1
        turn.native_id = f"{turn_id}:{count}" if count else turn_id
        turn.prompt_id = turn_id
        self._assign_session(turn, turn_id)

    def add_text(self, entry: CodexEntry, text: str, source: TextSource) -> SkipReason | None:
        """Add a text of the agent."""
        turn = self.turn
        if turn is None:
            return SkipReason.PREAMBLE
        if not text.strip():
            return SkipReason.NO_TEXT
        is_new = self._texts.add(text, source, entry.span.line)
        turn.closed_by = None if is_new else turn.closed_by
        self.extend(entry)
        return None if is_new else SkipReason.DUPLICATE

    def add_supplement(self, entry: CodexEntry, text: str) -> SkipReason | None:
        """Add a text that another text of the agent may contain."""
        self._texts.add_supplement(text)
        return self.extend(entry)

    def add_call(self, entry: CodexEntry) -> SkipReason | None:
        turn = self.turn
        if turn is None:
            self.builder.counts.tool_calls += 1
            return SkipReason.PREAMBLE
        item = entry.item
        call, size = tools.tool_call(item)
        self.builder.add_call(turn, call, size, item.call_id or item.id)
        add_subagent_prompt(turn, tools.subagent_prompt(item))
        turn.closed_by = None
        return self.extend(entry)

    def add_result(self, entry: CodexEntry) -> SkipReason | None:
        """Add a result to its call, and the user's answers in it to the turn."""
        call = self._call(entry.item)
        if call is not None:
            call.result, failed = tools.tool_result(entry.item)
            call.is_error = call.is_error or failed
            call.ended_at = self.time(entry.row)
            self.builder.add_answer(self.turn, tools.user_answer(call, entry.item))
        return self.extend(entry)

    def complete_call(self, entry: CodexEntry) -> SkipReason | None:
        """Complete a call with the event at its end."""
        call = self._call(entry.item)
        if call is None:
            return SkipReason.EVENT
        tools.complete(call, entry.item)
        return self.extend(entry)

    def new_usage(self, item: CodexItem) -> TokenUsage | None:
        """Return the usage of the request that a `token_count` reports, once.

        The event is repeated whenever the rate limits change.
        """
        if item.info is None or item.info.last_token_usage is None:
            return None
        total, before = item.info.total_token_usage, self._total_usage
        self._total_usage = total or before
        is_repeated = total is not None and total == before
        return None if is_repeated else item.info.last_token_usage

    def add_subagent_usage(self, entry: CodexEntry, request: str | None, usage: TokenUsage) -> None:
        """Add the tokens of a request of a subagent, whose rows are in no turn.

        Those of a copied row are its parent's, and count there.

        Args:
            entry: the row that reports them.
            request: what names the request in each row that repeats it; None: none repeats it.
            usage: the tokens.
        """
        if self.sessions.replaying:
            return
        self.builder.subagents.add(
            self.sessions.own,
            None,
            started_by=self.sessions.started_by,
            key=request,
            model=self.metadata.model,
            time=parse_time(entry.row.timestamp),
            tokens=(usage.input_tokens, usage.output_tokens),
        )

    def count_subagent_call(self, item: CodexItem) -> None:
        """Count a tool call of a subagent once. That of a copied row counts in its parent."""
        name = item.call_id or item.id
        if self.sessions.replaying or name in self._subagent_calls:
            return
        if name is not None:
            self._subagent_calls.add(name)
        self.builder.counts.tool_calls += 1

    def add_usage(self, request: str | None, usage: TokenUsage) -> SkipReason | None:
        """Add the tokens of a request."""
        turn = self.turn
        if turn is None:
            return SkipReason.PREAMBLE
        key = request or f"request {len(turn.usage)}"
        add_usage(turn, key, usage.input_tokens, usage.output_tokens)
        return None

    def finish(self) -> None:
        """Complete the last turn at the end of the archive."""
        self._texts.finish()

    def _call(self, item: CodexItem) -> RawToolCall | None:
        """Return the call that an item names."""
        return self.builder.calls.get(item.call_id or item.id or "")

    def _add_metadata(self, turn: RawTurn) -> None:
        metadata, self._is_metadata_new = self.metadata, False
        turn.cwd = metadata.cwd or turn.cwd
        turn.model = metadata.model or turn.model
        turn.app_version = metadata.cli_version or turn.app_version
        turn.git_branch = (metadata.git and metadata.git.branch) or turn.git_branch

    def _assign_session(self, turn: RawTurn, turn_id: str | None) -> None:
        session, turn.started_at = self.sessions.assign_session(turn_id, self._prompt_time)
        turn.session_id = SessionId(session)
        turn.parent_session_id = self.sessions.parent(session)
