"""The session of each row, the turn that it continues, and rows that add to no turn.

With `--input-format stream-json` and after a compaction, Claude Code writes earlier rows again
under new ids. The model's messages keep theirs. A prompt is a repetition if the response that
follows it is one. Versions of 2025 announced each command and skill that the model called, before
its next message, as a command that the user typed.

The client keeps its own messages in the queue of those that the user types while it works, and
drops them without an operation. Operations are matched only with what the user typed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.claude.machine_text import (
    is_agent_text,
    is_same_message,
    text_of,
    without_context,
    without_error_tag,
)
from turnetl.formats.claude.rows import (
    MESSAGE_TYPES,
    ClaudeBlock,
    ClaudeMessage,
    ClaudeProgress,
    ClaudeRow,
    ClaudeToolResult,
    MessageContent,
    ProgressRow,
    blocks_of,
    count_calls,
    joined_text,
)
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.turn_builder import TurnBuilder
from turnetl.formats.kit.usage import MessageTokens, add_message
from turnetl.formats.port import RawToolCall, RawTurn, SourceSpan


@dataclass(slots=True)
class ClaudeSessions:
    """The sessions of one archive, as far as it was read."""

    last: str | None = None
    """The session named last. A row that names none belongs to it."""
    _parents: dict[str, str | None] = field(default_factory=dict)
    """The previous session, by session."""
    _turns: dict[str, RawTurn] = field(default_factory=dict)
    """The last turn, by session."""
    _last_turn: RawTurn | None = None

    def enter(self, row: ClaudeRow) -> None:
        session = row.session_id
        if session is None:
            return
        # The first rows of a fork may not name its origin yet.
        fork = row.forked_from
        origin = row.parent_session_id or (fork.session_id if fork is not None else None)
        if origin is not None and origin != session:
            self._parents[session] = origin
        if session != self.last:
            self._parents.setdefault(session, self.last)
            self.last = session

    def session(self, row: ClaudeRow) -> str:
        """Return the row's session; empty before any is named."""
        return row.session_id or self.last or ""

    def turn(self, row: ClaudeRow) -> RawTurn | None:
        return self._turns.get(row.session_id or self.last or "", self._last_turn)

    def parent(self, session: str) -> str | None:
        return self._parents.get(session)

    def open(self, turn: RawTurn) -> None:
        self._turns[turn.session_id] = self._last_turn = turn

    def reopen(self, session: str, turn: RawTurn | None) -> None:
        """Make an earlier turn, or none, the last one of a session again."""
        self._last_turn = turn
        if turn is None:
            self._turns.pop(session, None)
        else:
            self._turns[session] = turn


SYNTHETIC = "<synthetic>"
"""The model of a message that the client wrote."""
# Bound once: access through the class of an enum is slow, and sessions may have many such rows.
_SIDECHAIN = SkipReason.SIDECHAIN


def is_sidechain(row: ClaudeRow) -> bool:
    return bool(row.is_sidechain or row.parent_tool_use_id)


def message_tokens(message: ClaudeMessage, time: datetime | None) -> MessageTokens | None:
    """Return the tokens of an API message; None: it has none, or the client wrote it."""
    if message.usage is None or message.model == SYNTHETIC:
        return None
    return MessageTokens(message.usage, message.model, time)


SUBAGENTS = ("Task", "Agent")
"""Tools that start subagents."""
_BY_CLIENT = ("acompact", "aprompt_suggestion")
"""How agents that the client starts for itself are named: they repeat the session, and no call
started them."""


@dataclass(slots=True)
class Sidechains:
    """The runs of subagents in one archive, as far as it was read."""

    builder: TurnBuilder
    _agents: dict[str, str] = field(default_factory=dict)
    """The subagent of a row by its uuid: early versions name none."""

    def read(self, row: ClaudeRow, span: SourceSpan, turn: RawTurn | None) -> SkipReason:
        """Read a row of a subagent; `turn` is that of the session, if the archive has it."""
        self.builder.counts.sidechain_rows += 1
        if row.message is not None and row.type in MESSAGE_TYPES:
            agent = row.agent_id or row.parent_tool_use_id or self._agent(row, span)
            if row.uuid is not None:
                self._agents[row.uuid] = agent
            if row.type == "assistant":
                self.builder.counts.tool_calls += count_calls(blocks_of(row.message.content))
            reported = ProgressRow(row.type, row.timestamp, row.message, row.uuid)
            self._add(row, reported, agent, row.parent_tool_use_id, span, turn)
            if isinstance(row.tool_use_result, ClaudeToolResult):
                for block in blocks_of(row.message.content):
                    self.builder.link(None, block.tool_use_id, row.tool_use_result.agent_id)
        elif row.data is not None:
            self.add_progress(row, row.data, span, turn)
        return _SIDECHAIN

    def add_progress(
        self, row: ClaudeRow, progress: ClaudeProgress, span: SourceSpan, turn: RawTurn | None
    ) -> None:
        """Read a row of a subagent that the session's archive repeats."""
        agent, reported = progress.agent_id or row.progress_of, progress.message
        if agent is not None and reported is not None and reported.message is not None:
            self._add(row, reported, agent, row.progress_of, span, turn)

    def _agent(self, row: ClaudeRow, span: SourceSpan) -> str:
        """Return the subagent of a row that names none: that of its parent, else a new one."""
        return self._agents.get(row.parent_uuid or "") or row.uuid or f"line {span.line}"

    def _add(  # noqa: PLR0917
        self,
        row: ClaudeRow,
        reported: ProgressRow,
        agent: str,
        call_id: str | None,
        span: SourceSpan,
        turn: RawTurn | None,
    ) -> None:
        message, session = reported.message, row.session_id
        if message is None:
            return
        time = parse_timestamp(reported.timestamp or row.timestamp)
        tokens, key = message_tokens(message, time), message.id or reported.uuid
        if tokens is not None:
            self.builder.subagents.add(session, agent, started_by=session, key=key, message=tokens)
        if agent.startswith(_BY_CLIENT):
            return
        run = self.builder.run(session, agent, span, time, call_id=call_id)
        if tokens is not None:
            add_message(run.usage, key or f"{agent} {len(run.usage)}", tokens)
        if run.first_line == span.line:
            self.builder.link(turn, call_id, agent)
        self._add_content(run, message, span, time, is_prompt=reported.type == "user")

    def _add_content(
        self,
        run: RawTurn,
        message: ClaudeMessage,
        span: SourceSpan,
        time: datetime | None,
        *,
        is_prompt: bool,
    ) -> None:
        """Add calls and results; of the texts, only the prompt and the last answer."""
        blocks, is_by_model = blocks_of(message.content), message.model != SYNTHETIC
        if is_prompt and not run.user_text:
            run.user_text = text_of(blocks)
        if is_by_model:
            run.model = message.model or run.model
        for block in blocks:
            if block.type == "tool_use":
                self.builder.add_run_call(run, block.name, block.input, span, block.id)
                if block.name in SUBAGENTS and block.id not in self.builder.starts:
                    add_start(self.builder, run, block)
            elif block.type == "tool_result":
                self.builder.complete_run_call(
                    block.tool_use_id,
                    without_error_tag(without_context(joined_text(block.content))),
                    time,
                    is_error=block.is_error is True,
                )
            elif not is_prompt and block.text and is_agent_text(block.text) and is_by_model:
                run.assistant_texts = [block.text]


def add_start(builder: TurnBuilder, turn: RawTurn, block: ClaudeBlock) -> None:
    """Add a call that starts a subagent to the turn, or to the run, whose agent made it."""
    arguments = block.input if isinstance(block.input, dict) else {}
    builder.add_start(turn, arguments.get("prompt"), block.id, arguments.get("subagent_type"))


_KEPT = ("text", "tool_use")


@dataclass(slots=True)
class Replays:
    """The messages of one archive, as far as it was read."""

    _owners: dict[str, RawTurn] = field(default_factory=dict)
    """The turn of a message's first row, by message id."""
    _rows: set[tuple[str, int]] = field(default_factory=set)
    _last: RawTurn | None = None
    _previous: RawTurn | None = None
    """The turn that the last turn follows in its session."""
    _closed_by: ClosedBy | None = None
    """How that turn was closed before the last one."""

    def owner(self, message_id: str | None, turn: RawTurn) -> RawTurn:
        """Return the turn of a message's first row, which is the given turn for a new message."""
        return turn if message_id is None else self._owners.setdefault(message_id, turn)

    def is_repeated(self, message_id: str | None, content: MessageContent, turn: RawTurn) -> bool:
        """Record the row of a message; return whether an earlier row had the same content."""
        if message_id is None:
            return False
        if not any(block.type in _KEPT for block in content.blocks):
            return self.repeats(turn, self.owner(message_id, turn))
        key = message_id, content.key
        is_repeated = key in self._rows
        self._rows.add(key)
        return is_repeated

    def repeats(self, turn: RawTurn, owner: RawTurn) -> bool:
        """Return whether a turn has only the prompt of the turn whose message follows it."""
        return turn is not owner and turn.user_text == owner.user_text and not _has_content(turn)

    def open(self, turn: RawTurn, previous: RawTurn | None, closed_by: ClosedBy | None) -> None:
        self._last, self._previous, self._closed_by = turn, previous, closed_by

    def reopen_previous(self) -> RawTurn | None:
        """Return the turn before the last one, which is taken back, open again if it was open."""
        previous, self._last = self._previous, None
        if previous is not None:
            previous.closed_by = self._closed_by
        return previous

    def is_last(self, turn: RawTurn) -> bool:
        return turn is self._last


def _has_content(turn: RawTurn) -> bool:
    texts = turn.assistant_texts or turn.steering or turn.user_answers
    return bool(texts or turn.tool_calls or turn.usage)


_TOOLS = ("Skill", "SlashCommand")


@dataclass(slots=True)
class SkillCalls:
    """The calls that may still be announced."""

    _message: str | None = None
    _inputs: list[str] = field(default_factory=list)

    def start_message(self, message_id: str | None) -> None:
        """Start a line of the model. Lines with the same message id are one message."""
        if message_id is None or message_id != self._message:
            self.clear()
        self._message = message_id

    def add(self, call: RawToolCall) -> None:
        if call.name in _TOOLS:
            self._inputs.append(call.input)

    def pop(self, command: str | None) -> bool:
        """Return whether the model called this command. Each call is announced once."""
        name = (command or "").lstrip("/")
        call = next((call for call in self._inputs if name and name in call), None)
        if call is not None:
            self._inputs.remove(call)
        return call is not None

    def clear(self) -> None:
        """Expect no more announcements: the model continued, or the user interrupted it."""
        self._inputs.clear()


_MID_TURN = "absorbed_mid_turn"
_DELIVERED = (None, _MID_TURN)
"""The reasons with which a message leaves the queue for the agent. Older versions write none."""


@dataclass(slots=True, eq=False)
class _Message:
    text: str
    key: str | None = None
    """Its id in the queue, which only newer versions write."""
    is_attached: bool = False
    """Whether an attachment delivered it, so that its removal delivers nothing."""
    claim: "Delivery | None" = None
    """A removal that delivered the message if its prompt, which was expected, never comes."""

    def is_same(self, text: str | None, key: str | None) -> bool:
        if key is not None and self.key == key:
            return True
        return text is not None and is_same_message(self.text, text)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A text that reached the working agent."""

    text: str
    turn: RawTurn | None
    """The turn in which it was delivered; None before the first prompt."""
    replaces: str | None = None
    """What was delivered before in the same turn, with a placeholder in place of pasted text."""


@dataclass(slots=True)
class MessageQueue:
    """Follows the queue of one session by its operations.

    A removed message was delivered to the working agent. A dequeued message returns as a prompt,
    and a popped message went back to the editor. Newer versions write a delivered message a second
    time, as an attachment, before or after its removal.
    """

    withdrawn: int = 0
    """Messages that the user took back."""
    _waiting: list[_Message] = field(default_factory=list)
    _expected: list[_Message] = field(default_factory=list)
    """Dequeued messages whose prompts did not come yet."""
    _passed_over: list[_Message] = field(default_factory=list)
    """Dequeued messages in place of which another prompt came, perhaps from the client's queue."""
    _removed: list[_Message] = field(default_factory=list)
    """Messages delivered by a removal in this turn, and not attached yet."""
    _attached: list[_Message] = field(default_factory=list)
    """Messages delivered by an attachment in this turn, and not removed yet."""
    _operations: set[tuple[str | None, ...]] = field(default_factory=set)
    _last_time: str | None = None

    @property
    def undelivered(self) -> int:
        """Messages whose delivery the archive does not show."""
        return sum(bool(message.text) and not message.is_attached for message in self._all())

    def is_repeated(self, operation: str | None, text: str | None, time: str | None) -> bool:
        """Record an operation; return whether it was recorded before, at the same time.

        Removals of several messages may follow each other within a millisecond.
        """
        key = operation, text, time
        is_repeated = key in self._operations and time != self._last_time
        if time is not None:
            self._operations.add(key)
            self._last_time = time
        return is_repeated

    def apply(
        self,
        operation: str | None,
        text: str | None,
        reason: str | None,
        key: str | None,
        turn: RawTurn | None,
    ) -> Delivery | None:
        """Apply one operation; return the message that it delivered to the agent, if any."""
        if operation == "enqueue":
            self._waiting.append(_Message(text or "", key))
        elif operation == "popAll":
            self._pop_all()
        elif operation == "remove" or reason == _MID_TURN:
            return self._remove(text, reason, key, turn)
        elif operation == "dequeue":
            self._dequeue(text)
        return None

    def _pop_all(self) -> None:
        """The messages that wait go back to the editor."""
        popped = self._waiting + self._passed_over
        self.withdrawn += sum(not message.is_attached for message in popped)
        self._waiting, self._passed_over = [], []

    def _dequeue(self, text: str | None) -> None:
        """The oldest message, or the one that is named, is the next prompt."""
        if text is not None:
            message = _take(self._waiting, text, None) or _take(self._passed_over, text, None)
        else:
            message = self._waiting.pop(0) if self._waiting else None
        if message is not None:
            self._expected.append(message)

    def _remove(
        self, text: str | None, reason: str | None, key: str | None, turn: RawTurn | None
    ) -> Delivery | None:
        message = self._take_removed(text, key)
        if reason not in _DELIVERED:
            self.withdrawn += message is not None and not message.is_attached
            return None
        if message is None and text is None:
            self._claim(turn)
            return None
        return self._deliver(message, text, key, turn)

    def attach(self, text: str, key: str | None, turn: RawTurn | None) -> Delivery | None:
        """Read an attached message; return it unless its removal already delivered it."""
        removed = _take(self._removed, text, key)
        if removed is not None:
            is_placeholder = removed.text != text and is_same_message(removed.text, text)
            return Delivery(text, turn, removed.text) if is_placeholder else None
        waiting = next((one for one in self._all() if one.is_same(text, key)), None)
        if waiting is not None and not waiting.is_attached:
            waiting.is_attached = True
        else:
            self._attached.append(_Message(text, key))
        return Delivery(text, turn)

    def deliver(self, text: str) -> None:
        """Read a message that was delivered in a row of its own kind, beside a tool result."""
        message = next((one for one in self._all() if one.is_same(text, None)), None)
        if message is not None:
            message.is_attached = True

    def match_prompt(self, text: str) -> list[Delivery]:
        """Match a prompt with the queue, perhaps not its oldest; return what removals delivered."""
        self._removed, self._attached = [], []
        if _take(self._expected, text, None) is None:
            target = self._waiting if self._take_sent(text) else self._passed_over
            target[:0] = self._expected
            self._expected = []
        return self.claimed()

    def match_client_row(self, text: str) -> list[Delivery]:
        """Match a row of the client itself, which may have been dequeued in place of a message."""
        if not self._take_sent(text):
            self._waiting[:0] = self._expected
            self._expected = []
        return self.claimed()

    def _all(self) -> Iterator[_Message]:
        yield from (*self._expected, *self._waiting, *self._passed_over)

    def _take_removed(self, text: str | None, key: str | None) -> _Message | None:
        """Take the message that a removal names, else the one that is attached, else the oldest."""
        if text is not None or key is not None:
            lists = (*self._lists(), self._expected)
            named = next(filter(None, (_take(one, text, key) for one in lists)), None)
            if named is not None or text is not None:
                return named
        for messages in self._lists():
            attached = next((one for one in messages if one.is_attached), None)
            if attached is not None:
                messages.remove(attached)
                return attached
        oldest = self._waiting or self._passed_over
        return oldest.pop(0) if oldest else None

    def _deliver(
        self, message: _Message | None, text: str | None, key: str | None, turn: RawTurn | None
    ) -> Delivery | None:
        if message is not None and message.is_attached:
            return None
        delivered = _Message(text or (message.text if message is not None else ""), key)
        if not delivered.text or _take(self._attached, delivered.text, key) is not None:
            return None
        self._removed.append(delivered)
        return Delivery(delivered.text, turn)

    def _claim(self, turn: RawTurn | None) -> None:
        """Claim the expected message: a removal delivered it if its prompt never comes."""
        unclaimed = (one for one in self._expected if one.claim is None and not one.is_attached)
        message = next(unclaimed, None)
        if message is not None and turn is not None:
            message.claim = Delivery(message.text, turn)

    def claimed(self) -> list[Delivery]:
        """Take the messages that removals delivered, and that never came as prompts."""
        claimed = [one for one in self._all() if one.claim is not None]
        self._keep(lambda message: message.claim is None)
        return [one.claim for one in claimed if one.claim is not None and not one.is_attached]

    def _take_sent(self, text: str) -> bool:
        """Take the message, or the messages sent together, of which a text consists."""
        if any(_take(one, text, None) for one in (self._expected, *self._lists())):
            return True
        sent, rest = [], text
        for message in self._all():
            if message.text and rest.startswith(message.text):
                sent.append(message)
                rest = rest[len(message.text) :].lstrip()
        if rest or not sent:
            return False
        self._keep(lambda message: message not in sent)
        return True

    def _lists(self) -> tuple[list[_Message], ...]:
        return self._waiting, self._passed_over

    def _keep(self, condition: Callable[[_Message], bool]) -> None:
        for messages in (self._expected, *self._lists()):
            messages[:] = filter(condition, messages)


def _take(messages: list[_Message], text: str | None, key: str | None) -> _Message | None:
    """Remove a message from a list by its id or its text; attached ones first."""
    same = [message for message in messages if message.is_same(text, key)]
    taken = next((message for message in same if message.is_attached), next(iter(same), None))
    if taken is not None:
        messages.remove(taken)
    return taken
