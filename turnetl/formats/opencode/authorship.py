"""Whose words are these? What stands under role user in OpenCode, and in what tools gave back.

OpenCode marks what it writes itself as `synthetic`: the contents of files that were mentioned,
reminders of a mode, "continue" after a compaction. `ignored` is what the model never gets to see.
"""

import re
from collections.abc import Iterable
from typing import Any

from turnetl.formats.opencode.rows import Part, State
from turnetl.skip_reasons import SkipReason

_KINDS = {"compaction": SkipReason.COMPACTION, "subtask": SkipReason.SUBTASK}
_SHELL = "The following tool was executed by the user"
_ATTACHED = re.compile(r"\[Attached [^\n]*\]")
_REJECTED = re.compile(
    r"The user rejected permission to use this specific tool call with the following feedback:"
    r"\s*(.*)",
    re.DOTALL,
)
_ANSWERED = re.compile(r"\s*User has answered your questions: (.*)", re.DOTALL)
_ANSWERED_NOTE = re.compile(r"\.? You can now continue with the user's answers in mind\.?\s*$")


def prompt(parts: Iterable[Part]) -> str | None:
    """Return what a person wrote in a message; what was attached if that is all; None if nothing.

    A slash command that goes to a subagent is its name and what it was expanded to.
    """
    own = [part for part in parts if not part.synthetic and not part.ignored]
    said = [part.text for part in own if part.type == "text" and part.text and part.text.strip()]
    if said:
        return "\n\n".join(said).strip()
    files = [_attachment(part) for part in own if part.type == "file"]
    commands = [_command(part) for part in own if part.type == "subtask" and part.command]
    return "\n\n".join(commands) or " ".join(files) or None


def machine(parts: Iterable[Part]) -> SkipReason:
    """Return in a word what a message is that no person wrote."""
    kinds = set()
    for part in parts:
        kinds.add(part.type)
        if part.type == "text" and (part.text or "").startswith(_SHELL):
            return SkipReason.SHELL_COMMAND
    found = (reason for kind, reason in _KINDS.items() if kind in kinds)
    return next(found, SkipReason.SYNTHETIC)


def is_repeated(text: str, before: str) -> bool:
    """Say whether a message is the one before, said again after a compaction cut it off.

    Its pictures come again as a note of a line.
    """
    return bool(before) and _without_notes(text) == _without_notes(before)


def answer(state: State) -> str | None:
    """Return what a person said by way of a tool's result, or None if nothing was said."""
    if state.status == "error":
        found = _REJECTED.match(state.error) if isinstance(state.error, str) else None
        return (found[1].strip() or None) if found else None
    found = _ANSWERED.match(state.output) if isinstance(state.output, str) else None
    if found is None or _is_unanswered(state):
        return None
    return _ANSWERED_NOTE.sub("", found[1]).strip() or None


def _is_unanswered(state: State) -> bool:
    answers: Any = state.metadata.answers if state.metadata is not None else None
    return isinstance(answers, list) and not any(answers)


def _attachment(part: Part) -> str:
    mime = part.mime or part.media_type or ""
    return "[image]" if mime.startswith("image/") else f"[{part.filename or mime or 'file'}]"


def _command(part: Part) -> str:
    return "\n\n".join(text for text in (f"/{part.command}", part.prompt) if text)


def _without_notes(text: str) -> str:
    return _ATTACHED.sub("", text).strip()
