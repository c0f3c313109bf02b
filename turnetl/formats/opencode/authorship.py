"""The text that a user wrote in OpenCode's messages under role user, and in tool results.

OpenCode marks its own text as `synthetic`: the content of mentioned files, reminders of a mode,
"continue" after a compaction. Text marked as `ignored` is never sent to the model.
"""

import re
from collections.abc import Iterable
from typing import Any

from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.opencode.rows import OpenCodePart, ToolState

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


def prompt(parts: Iterable[OpenCodePart]) -> str | None:
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
