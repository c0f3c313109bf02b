"""The turns of one session, built from its messages in order of time, each with its parts.

A response names its prompt, and the files of a store may be in any order: all prompts are read
first. One that was typed while the agent worked is a turn like any other. OpenCode marks its own
text as `synthetic` (mentioned files, reminders of a mode, "continue" after a compaction), and text
that is never sent to the model as `ignored`.
"""

import re
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.kit.times import latest
from turnetl.formats.kit.tool_input import as_text, compact_json, format_input
from turnetl.formats.kit.turn_builder import (
    TurnBuilder,
    close_by_prompt,
    extend,
)
from turnetl.formats.kit.usage import MessageTokens, add_message
from turnetl.formats.opencode.rows import (
    MessageInfo,
    OpenCodeMessage,
    OpenCodePart,
    OpenCodeSession,
    ToolState,
    folder_of,
    parse_raw_timestamp,
)
from turnetl.formats.port import RawToolCall, RawTurn, SourceSpan

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
    session: OpenCodeSession
    builder: TurnBuilder
    reasons: SkipReasons
    _owners: dict[str, _TurnOrReason] = field(default_factory=dict)
    """Turn or skip reason by message id of the user's messages."""
    _last_owner: _TurnOrReason = None
    """The same for the user's last message: a response without a known prompt belongs to it."""
    _is_prompt_interrupted: bool = False
    """Whether a compaction interrupted the last prompt, which is then repeated."""

    def read(self, messages: Iterable[OpenCodeMessage]) -> None:
        """Read the messages, which may be in any order."""
        ordered = _by_time(messages)
        if parent := self.session.parent_id:
            for message in ordered:
                self.builder.counts.sidechain_rows += 1
                session = message.info.session_id or self.session.id or ""
                for key, tokens in _request_tokens(message):
                    self.builder.subagents.add(
                        session, None, started_by=parent, key=key, message=tokens
                    )
                self._skip(message, SkipReason.SIDECHAIN)
            self._read_run(ordered, parent)
            return
        owners = [self._read_prompt(message) for message in ordered]
        for message, owner in zip(ordered, owners, strict=True):
            if message.info.role != "user":
                self._read_response(message, self._owners.get(message.info.parent_id or "", owner))
        for turn in self.builder.turns[:-1]:
            close_by_prompt(turn)

    def _read_run(self, messages: list[OpenCodeMessage], parent: str) -> None:
        """Read the session of a subagent like one of the user, as one run."""
        session, builder = copy(self.session), TurnBuilder()
        session.parent_id = None
        OpenCodeConversation(session, builder, {}).read(messages)
        self.builder.add_run_of(builder.turns, parent, session.id or "")

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
        text = _prompt_text(parts)
        if text is None:
            reason = _skip_reason(parts)
            self._skip(message, reason)
            self._is_prompt_interrupted = self._is_prompt_interrupted or any(
                part.overflow for part in parts
            )
            return reason if reason is SkipReason.SHELL_COMMAND else turn
        was_interrupted, self._is_prompt_interrupted = self._is_prompt_interrupted, False
        if turn is not None and was_interrupted and _is_repeated(text, turn.user_text):
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
        turn.model, turn.app_version = _model_of(info), session.version
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
            for key, tokens in _request_tokens(message):
                self.builder.subagents.add_own(session, key, tokens)
            self._skip(message, turn or SkipReason.PREAMBLE)
        elif info.summary is True or info.role == "compaction":
            _add_message_usage(message, turn)
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
        turn.model = _model_of(message.info) or turn.model
        for part, span in message.parts:
            self._set_reason(span, self._read_part(part, turn))
        _add_message_usage(message, turn)
        turn.closed_by = _closed_by(message.info, message.all_parts)

    def _read_part(self, part: OpenCodePart, turn: RawTurn) -> SkipReason | None:
        if part.type == "tool":
            _add_call(part, turn, self.builder)
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


_SUBAGENTS = ("task",)
_CONTINUES = ("tool-calls", "unknown")


def _exit_status(state: ToolState) -> object:
    status = state.metadata.exit if state.metadata is not None else None
    return status if isinstance(status, int) else None


def _add_call(part: OpenCodePart, turn: RawTurn, builder: TurnBuilder) -> None:
    state = part.state or ToolState()
    call = RawToolCall(
        name=part.tool or part.name or "",
        input=format_input(state.input),
        result=as_text(state.error if state.status == "error" else state.output),
        is_error=state.status == "error" or _exit_status(state) not in {None, 0},
        ended_at=parse_raw_timestamp(state.time.end) if state.time is not None else None,
        arguments=state.input,
    )
    size = len(compact_json(state.input)) if state.input is not None else 0
    builder.add_call(turn, call, size)
    builder.add_answer(turn, _user_answer(state))
    if call.name in _SUBAGENTS and isinstance(state.input, dict):
        builder.add_start(
            turn, state.input.get("prompt"), part.id, state.input.get("subagent_type")
        )
        agent_id = state.metadata.session_id if state.metadata is not None else None
        builder.link(turn, part.id, agent_id if isinstance(agent_id, str) else None)


def _add_message_usage(message: OpenCodeMessage, turn: RawTurn) -> None:
    for key, tokens in _request_tokens(message):
        add_message(turn.usage, key, tokens)


def _request_tokens(message: OpenCodeMessage) -> Iterator[tuple[str, MessageTokens]]:
    """Yield the key and the tokens of each model request of a message: one, or one per step."""
    key = _message_key(message)
    steps = [part.tokens for part in message.all_parts if part.type == "step-finish"]
    requests = steps if any(steps) else [message.info.tokens]
    for number, tokens in enumerate(requests):
        if tokens is not None:
            yield (
                f"{key}:{number}",
                MessageTokens(tokens, _model_of(message.info), message.created),
            )


def _message_key(message: OpenCodeMessage) -> str:
    """Return what identifies a message in all archives: only OpenCode's own ids do it alone."""
    own = message.info.id
    if own and own.startswith("msg_"):
        return own
    return f"{message.info.session_id} {own or f'at {message.created}'}"


def _model_of(info: MessageInfo) -> str | None:
    model = info.model
    return info.model_id or (model and (model.model_id or model.id)) or None


def _closed_by(info: MessageInfo, parts: Iterable[OpenCodePart]) -> ClosedBy | None:
    """Return what closes the turn if this is its last message: after a call the agent continues."""
    if info.error is not None:
        return ClosedBy.INTERRUPTED
    is_completed = info.time is not None and info.time.completed is not None
    if not is_completed or info.finish is None or info.finish in _CONTINUES:
        return None
    return None if any(part.type == "tool" for part in parts) else ClosedBy.SESSION_END


_REASONS = {"compaction": SkipReason.COMPACTION, "subtask": SkipReason.SUBTASK}
_SHELL = "The following tool was executed by the user"
_ATTACHED = re.compile(r"\[Attached [^\n]*\]")
_REJECTED = re.compile(
    r"The user rejected permission to use this specific tool call with the following feedback:"
    r"\s*(.*)",
    re.DOTALL,
)
_ANSWERED = re.compile(r"\s*User has answered your questions: (.*)", re.DOTALL)
_ANSWERED_NOTE = re.compile(r"\.? You can now continue with the user's answers in mind\.?\s*$")


def _prompt_text(parts: Iterable[OpenCodePart]) -> str | None:
    """Return the user's text, else a command with its prompt, else placeholders, else None."""
    own = [part for part in parts if not part.synthetic and not part.ignored]
    texts = [part.text for part in own if part.type == "text" and part.text and part.text.strip()]
    if texts:
        return "\n\n".join(texts).strip()
    files = [_attachment(part) for part in own if part.type == "file"]
    commands = [_command(part) for part in own if part.type == "subtask" and part.command]
    return "\n\n".join(commands) or " ".join(files) or None


def _skip_reason(parts: Iterable[OpenCodePart]) -> SkipReason:
    kinds = set()
    for part in parts:
        kinds.add(part.type)
        if part.type == "text" and (part.text or "").startswith(_SHELL):
            return SkipReason.SHELL_COMMAND
    reasons = (reason for kind, reason in _REASONS.items() if kind in kinds)
    return next(reasons, SkipReason.SYNTHETIC)


def _is_repeated(text: str, before: str) -> bool:
    """Return whether a prompt is the one before, repeated with notes in place of attachments."""
    return bool(before) and _without_notes(text) == _without_notes(before)


def _user_answer(state: ToolState) -> str | None:
    if state.status == "error":
        rejected = _REJECTED.match(state.error) if isinstance(state.error, str) else None
        return (rejected[1].strip() or None) if rejected else None
    answered = _ANSWERED.match(state.output) if isinstance(state.output, str) else None
    if answered is None or _is_unanswered(state):
        return None
    return _ANSWERED_NOTE.sub("", answered[1]).strip() or None


def _is_unanswered(state: ToolState) -> bool:
    answers: Any = state.metadata.answers if state.metadata is not None else None
    return isinstance(answers, list) and not any(answers)


def _attachment(part: OpenCodePart) -> str:
    mime = part.mime or part.media_type or ""
    return "[image]" if mime.startswith("image/") else f"[{part.filename or mime or 'file'}]"


def _command(part: OpenCodePart) -> str:
    return "\n\n".join(text for text in (f"/{part.command}", part.prompt) if text)


def _without_notes(text: str) -> str:
    return _ATTACHED.sub("", text).strip()
