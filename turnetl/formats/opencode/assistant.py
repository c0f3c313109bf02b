"""An assistant's message as part of its turn, and what the user wrote in OpenCode's messages.

OpenCode marks its own text as `synthetic`: the content of mentioned files, reminders of a mode,
"continue" after a compaction. Text marked as `ignored` is never sent to the model.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.kit.tool_input import compact_json, format_input
from turnetl.formats.kit.turn_builder import TurnBuilder, add_subagent_prompt
from turnetl.formats.kit.usage import MessageTokens, add_message
from turnetl.formats.opencode.rows import (
    MessageInfo,
    OpenCodeMessage,
    OpenCodePart,
    ToolState,
    parse_raw_timestamp,
)
from turnetl.formats.port import RawToolCall, RawTurn

_SUBAGENTS = ("task",)
_CONTINUES = ("tool-calls", "unknown")


def add_call(part: OpenCodePart, turn: RawTurn, builder: TurnBuilder) -> None:
    """Add a call with its result, and the user's answer in the result."""
    state = part.state or ToolState()
    call = RawToolCall(
        name=part.tool or part.name or "",
        input=format_input(state.input),
        result=_result(state),
        is_error=state.status == "error",
        ended_at=parse_raw_timestamp(state.time.end) if state.time is not None else None,
        arguments=state.input,
    )
    size = len(compact_json(state.input)) if state.input is not None else 0
    builder.add_call(turn, call, size)
    builder.add_answer(turn, user_answer(state))
    if call.name in _SUBAGENTS and isinstance(state.input, dict):
        add_subagent_prompt(turn, state.input.get("prompt"))


def add_message_usage(message: OpenCodeMessage, turn: RawTurn) -> None:
    for key, tokens in request_tokens(message):
        add_message(turn.usage, key, tokens)


def request_tokens(message: OpenCodeMessage) -> Iterator[tuple[str, MessageTokens]]:
    """Yield the key and the tokens of each model request of a message: one, or one per step."""
    key = _message_key(message)
    steps = [part.tokens for part in message.all_parts if part.type == "step-finish"]
    requests = steps if any(steps) else [message.info.tokens]
    for number, tokens in enumerate(requests):
        if tokens is not None:
            yield (
                f"{key}:{number}",
                MessageTokens(tokens, model_of(message.info), message.created),
            )


def _message_key(message: OpenCodeMessage) -> str:
    """Return what identifies a message in all archives: only OpenCode's own ids do it alone."""
    own = message.info.id
    if own and own.startswith("msg_"):
        return own
    return f"{message.info.session_id} {own or f'at {message.created}'}"


def model_of(info: MessageInfo) -> str | None:
    model = info.model
    return info.model_id or (model and (model.model_id or model.id)) or None


def closed_by(info: MessageInfo, parts: Iterable[OpenCodePart]) -> ClosedBy | None:
    """Return what closes the turn if this is its last message: after a call the agent continues."""
    if info.error is not None:
        return ClosedBy.INTERRUPTED
    is_completed = info.time is not None and info.time.completed is not None
    if not is_completed or info.finish is None or info.finish in _CONTINUES:
        return None
    return None if any(part.type == "tool" for part in parts) else ClosedBy.SESSION_END


def _result(state: ToolState) -> str:
    result = state.error if state.status == "error" else state.output
    if result is None:
        return ""
    return result if isinstance(result, str) else compact_json(result)


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


def prompt_text(parts: Iterable[OpenCodePart]) -> str | None:
    """Return the text that the user wrote, else placeholders of attachments, else None.

    A slash command for a subagent gives its name and its expanded prompt.
    """
    own = [part for part in parts if not part.synthetic and not part.ignored]
    texts = [part.text for part in own if part.type == "text" and part.text and part.text.strip()]
    if texts:
        return "\n\n".join(texts).strip()
    files = [_attachment(part) for part in own if part.type == "file"]
    commands = [_command(part) for part in own if part.type == "subtask" and part.command]
    return "\n\n".join(commands) or " ".join(files) or None


def skip_reason(parts: Iterable[OpenCodePart]) -> SkipReason:
    """Return why a message under the user's role is no prompt."""
    kinds = set()
    for part in parts:
        kinds.add(part.type)
        if part.type == "text" and (part.text or "").startswith(_SHELL):
            return SkipReason.SHELL_COMMAND
    reasons = (reason for kind, reason in _REASONS.items() if kind in kinds)
    return next(reasons, SkipReason.SYNTHETIC)


def is_repeated(text: str, before: str) -> bool:
    """Return whether a prompt is the previous one, repeated after a compaction interrupted it.

    The repetition has a one-line note in place of each attachment.
    """
    return bool(before) and _without_notes(text) == _without_notes(before)


def user_answer(state: ToolState) -> str | None:
    """Return what the user answered through a tool's result, or None if there is no answer."""
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
