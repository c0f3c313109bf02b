"""The session of each row, the turn that it continues, and rows that add to no turn.

With `--input-format stream-json` and after a compaction, Claude Code writes earlier rows again
under new ids. The model's messages keep their ids. A prompt is a repetition if the response that
follows it repeats the response to the same prompt.

Versions of 2025 announced each command and skill that the model called, under role user, in the
form of a command that the user typed. The announcement follows the call before the model's next
message.
"""

from dataclasses import dataclass, field

from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.claude.rows import (
    ClaudeMessage,
    ClaudeProgress,
    ClaudeRow,
    MessageContent,
    ProgressMessage,
    blocks_of,
    count_calls,
)
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.turn_builder import TurnBuilder
from turnetl.formats.kit.usage import MessageTokens
from turnetl.formats.port import RawToolCall, RawTurn


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
        """Record the session that a row names."""
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


def read_sidechain(row: ClaudeRow, builder: TurnBuilder) -> SkipReason:
    builder.counts.sidechain_rows += 1
    if row.type == "assistant" and row.message is not None:
        builder.counts.tool_calls += count_calls(blocks_of(row.message.content))
        tokens = message_tokens(row.message, row.timestamp)
        _add(
            row, row.agent_id or row.parent_tool_use_id, row.message.id or row.uuid, tokens, builder
        )
    elif row.data is not None:
        add_progress(row, row.data, builder)
    return _SIDECHAIN


def add_progress(row: ClaudeRow, progress: ClaudeProgress, builder: TurnBuilder) -> None:
    reported = progress.message
    if reported is not None and reported.message is not None:
        tokens = message_tokens(reported.message, reported.timestamp or row.timestamp)
        _add(row, progress.agent_id, reported.message.id or reported.uuid, tokens, builder)


def message_tokens(
    message: ClaudeMessage | ProgressMessage, timestamp: str | float | None
) -> MessageTokens | None:
    """Return the tokens of an API message; None: it has none, or the client wrote it."""
    if message.usage is None or message.model == SYNTHETIC:
        return None
    return MessageTokens(message.usage, message.model, parse_timestamp(timestamp))


def _add(
    row: ClaudeRow,
    agent: str | None,
    key: str | None,
    tokens: MessageTokens | None,
    builder: TurnBuilder,
) -> None:
    if tokens is not None:
        session = row.session_id
        builder.subagents.add(session, agent, started_by=session, key=key, message=tokens)


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
