"""The turns of one session, built from its messages in order of time, each with its parts.

A response names its prompt, and the files of a store may be in any order. Therefore all prompts are
read first. A prompt that was typed while the agent worked is a message like any other, and a turn.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.kit.times import latest
from turnetl.formats.kit.turn_builder import TurnBuilder, close_by_prompt, extend
from turnetl.formats.opencode import assistant
from turnetl.formats.opencode.rows import (
    MessageInfo,
    OpenCodeMessage,
    OpenCodePart,
    OpenCodeSession,
    folder_of,
    parse_raw_timestamp,
)
from turnetl.formats.port import RawTurn, SourceSpan

_ENDS = {
    "succeeded": ClosedBy.SESSION_END,
    "failed": ClosedBy.INTERRUPTED,
    "interrupted": ClosedBy.INTERRUPTED,
}
_SKIPPED_PARTS = {
    "reasoning": SkipReason.REASONING,
    "step-start": SkipReason.STEP,
    "step-finish": SkipReason.STEP,
    "patch": SkipReason.SNAPSHOT,
    "snapshot": SkipReason.SNAPSHOT,
    "compaction": SkipReason.COMPACTION,
    "retry": SkipReason.RETRY,
}

SkipReasons = dict[int, SkipReason | None]
"""By offset of a message or a part: None if it added something to a turn, else the reason."""

_TurnOrReason = RawTurn | SkipReason | None
"""The turn of a response, or the reason why it has none; None before the first prompt."""


@dataclass(slots=True)
class OpenCodeConversation:
    """Reads the messages of one session."""

    session: OpenCodeSession
    builder: TurnBuilder
    reasons: SkipReasons
    _owners: dict[str, _TurnOrReason] = field(default_factory=dict)
    """Turn or skip reason by message id of the user's messages."""
    _last_owner: _TurnOrReason = None
    """Turn or skip reason of the user's last message. A response without a known prompt belongs to
    it."""
    _is_prompt_interrupted: bool = False
    """Whether a compaction interrupted the last prompt, which is then repeated."""

    def read(self, messages: Iterable[OpenCodeMessage]) -> None:
        """Read the messages, which may be in any order."""
        ordered = _by_time(messages)
        if parent := self.session.parent_id:
            for message in ordered:
                self.builder.counts.sidechain_rows += 1
                session = message.info.session_id or self.session.id or ""
                for key, tokens in assistant.request_tokens(message):
                    self.builder.subagents.add(
                        session, None, started_by=parent, key=key, message=tokens
                    )
                self._skip(message, SkipReason.SIDECHAIN)
            return
        owners = [self._read_prompt(message) for message in ordered]
        for message, owner in zip(ordered, owners, strict=True):
            if message.info.role != "user":
                self._read_response(message, self._owners.get(message.info.parent_id or "", owner))
        for turn in self.builder.turns[:-1]:
            close_by_prompt(turn)

    def _skip(self, message: OpenCodeMessage, reason: SkipReason) -> None:
        calls = sum(part.type == "tool" for part in message.all_parts)
        self.builder.counts.tool_calls += calls
        for span in message.spans:
            self._set_reason(span, reason)

    def _set_reason(self, span: SourceSpan, reason: SkipReason | None) -> None:
        """Set the reason of a span. A span that added anything to a turn stays used."""
        if reason is None:
            self.reasons[span.start] = None
        else:
            self.reasons.setdefault(span.start, reason)

    def _read_prompt(self, message: OpenCodeMessage) -> _TurnOrReason:
        """Open a turn if the user wrote the message; return the owner of its responses."""
        if message.info.role == "user":
            self._last_owner = self._owner(message)
            if message.info.id:
                self._owners[message.info.id] = self._last_owner
        return self._last_owner

    def _owner(self, message: OpenCodeMessage) -> _TurnOrReason:
        """Return the owner of the responses to a message under the user's role."""
        turn, parts = self.builder.current, message.all_parts
        text = assistant.prompt_text(parts)
        if text is None:
            reason = assistant.skip_reason(parts)
            self._skip(message, reason)
            self._is_prompt_interrupted = self._is_prompt_interrupted or any(
                part.overflow for part in parts
            )
            return reason if reason is SkipReason.SHELL_COMMAND else turn
        was_interrupted, self._is_prompt_interrupted = self._is_prompt_interrupted, False
        if turn is not None and was_interrupted and assistant.is_repeated(text, turn.user_text):
            self._skip(message, SkipReason.DUPLICATE)
            return turn
        return self._open_turn(message, text)

    def _open_turn(self, message: OpenCodeMessage, text: str) -> RawTurn:
        info, session = message.info, self.session
        session_id = info.session_id or session.id or ""
        turn = self.builder.open(
            text,
            message.span,
            message.created,
            session=session_id,
            native_id=_native_id(info, session_id),
            prompt_id=info.id,
        )
        turn.parent_session_id = session.fork.session_id if session.fork is not None else None
        turn.model, turn.app_version = assistant.model_of(info), session.version
        turn.cwd = session.directory or folder_of(session.location)
        _extend(turn, message)
        self._set_reason(message.span, None)
        for part, span in message.parts:
            is_unread = part.synthetic or part.ignored
            self._set_reason(span, SkipReason.SYNTHETIC if is_unread else None)
        return turn

    def _read_response(self, message: OpenCodeMessage, turn: _TurnOrReason) -> None:
        info = message.info
        if not isinstance(turn, RawTurn):
            session = info.session_id or self.session.id or ""
            for key, tokens in assistant.request_tokens(message):
                self.builder.subagents.add_own(session, key, tokens)
            self._skip(message, turn or SkipReason.PREAMBLE)
        elif info.summary is True or info.role == "compaction":
            assistant.add_message_usage(message, turn)
            self._skip(message, SkipReason.COMPACTION)
        elif info.role == "assistant":
            self._read_assistant(message, turn)
        elif (closed_by := _ENDS.get(info.finish or "")) is not None and info.role == "idle":
            turn.closed_by = closed_by
            _extend(turn, message)
            self._set_reason(message.span, None)
        else:
            is_shell = info.role == "shell"
            self._skip(message, SkipReason.SHELL_COMMAND if is_shell else SkipReason.OTHER)

    def _read_assistant(self, message: OpenCodeMessage, turn: RawTurn) -> None:
        _extend(turn, message)
        self._set_reason(message.span, None)
        turn.model = assistant.model_of(message.info) or turn.model
        for part, span in message.parts:
            self._set_reason(span, self._read_part(part, turn))
        assistant.add_message_usage(message, turn)
        turn.closed_by = assistant.closed_by(message.info, message.all_parts)

    def _read_part(self, part: OpenCodePart, turn: RawTurn) -> SkipReason | None:
        if part.type == "tool":
            assistant.add_call(part, turn, self.builder)
            return None
        if part.type != "text":
            return _SKIPPED_PARTS.get(part.type or "", SkipReason.OTHER)
        if part.synthetic or part.ignored:
            return SkipReason.SYNTHETIC
        if not part.text or not part.text.strip():
            return SkipReason.NO_TEXT
        turn.assistant_texts.append(part.text)
        return None


def _extend(turn: RawTurn, message: OpenCodeMessage) -> None:
    info = message.info
    completed = parse_raw_timestamp(info.time.completed) if info.time is not None else None
    time = latest(turn.ended_at, message.created, completed)
    for span in message.spans:
        extend(turn, span, time)
    turn.cwd = folder_of(info.path) or turn.cwd


def _by_time(messages: Iterable[OpenCodeMessage]) -> list[OpenCodeMessage]:
    """Return the messages in order of time. One without a time follows its predecessor."""
    keys: list[float] = []
    in_file_order = list(messages)
    for message in in_file_order:
        created = message.created
        before = keys[-1] if keys else float("-inf")
        keys.append(created.timestamp() if created is not None else before)
    positions = sorted(range(len(keys)), key=keys.__getitem__)
    return [in_file_order[position] for position in positions]


def _native_id(info: MessageInfo, session: str) -> str:
    """Return the input of the turn's id: only OpenCode's own ids are globally unique."""
    if not info.id or info.id.startswith("msg_"):
        return info.id or ""
    return f"{session}:{info.id}"
