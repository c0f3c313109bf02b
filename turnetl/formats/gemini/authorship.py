"""Whose words are these? What stands under role user in Gemini CLI, a person's or a machine's.

The signs are those that Gemini CLI 0.5 to 0.60 writes. Older releases join the pieces of a message
without anything between, newer ones keep them: both are looked at as one text here.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from turnetl.formats.gemini.rows import Content, Row, parts_of, texts_of
from turnetl.skip_reasons import SkipReason

_NUDGE = "System: Please continue."
_MACHINE = (
    ("System: Potential loop detected.", SkipReason.AUTO_PROMPT),
    ("<session_context>", SkipReason.CONTEXT),
    ("<hook_context>", SkipReason.CONTEXT),
    ("This is the Gemini CLI. We are setting up the context for our chat", SkipReason.CONTEXT),
    ("- **Workspace Directories:**", SkipReason.CONTEXT),
    ("Here is the user's editor context as a JSON object", SkipReason.CONTEXT),
    ("Here is a summary of changes in the user's editor context", SkipReason.CONTEXT),
    ("User has manually exited Plan Mode.", SkipReason.CONTEXT),
    ("I ran the following shell command:\n", SkipReason.SHELL_COMMAND),
    ("Background execution update:\n<background_output>", SkipReason.NOTIFICATION),
    ("<state_snapshot>", SkipReason.COMPACTION),
    ("[Function Response: ", SkipReason.TOOL_RESULT),
)
_SIGNS = tuple(sign for sign, _ in _MACHINE)
_SCRATCHPAD, _SNAPSHOT = "<scratchpad>", "<state_snapshot>"
_BEFORE = re.compile(
    r"\s*(?:<(session_context|hook_context)>.*?</\1>"
    r"|Here is (?:the user's editor context as|a summary of changes in the user's editor context)"
    r"[^\n]*\n```json\n.*?\n```(?=\s|$))\s*",
    re.DOTALL,
)
_BEHIND = (("<hook_context>", "</hook_context>"), ("<system_note>", "</system_note>"))
_FILES = re.compile(r"--- Content from referenced (?:files|context) ---")
_FILES_END = "--- End of content ---"
_HINT = re.compile(
    r"User (?:steering update|hints):\s*"
    r'(?:<user_input>\n(.*?)\n</user_input>|"(.*?)"(?=\nInternal instruction: ))',
    re.DOTALL,
)
_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|$)|\?\s*$")
_LEAVING = re.compile(r"/(?:quit|exit)\s*$")
_WORKSPACE = re.compile(
    r"\*\*Workspace Directories:\*\*\s*\n\s*- ([^\n]+)"
    r"|working in (?:the directory|the following directories):\s*(?:- )?([^\n]+)"
)
_ACCOUNTS = ("<session_context>", "This is the Gemini CLI.", "- **Workspace Directories:**")
_CANNED = (
    "Got it. Thanks for the context!",
    "Got it. Thanks for the additional context!",
    "[The previous response was interrupted before it completed.]",
)
_CANCELLED = ("Request cancelled.", "User cancelled the request.")
_API_ERROR = "[API Error"
_REJECTED = re.compile(
    r"Plan rejected\. User feedback: (.*?)\n\nThe plan is stored at: ", re.DOTALL
)
_IMAGE = "[image]"


def prompt(row: Row) -> tuple[str, SkipReason]:
    """Return the text that the user wrote; if it is empty, the reason why the row is no prompt."""
    text, reason = written(row.content)
    if not text:
        return "", reason
    if hints := steering(row.content):
        return "\n\n".join(hints), reason
    return written(row.display_content)[0] or text, reason


def written(content: Content) -> tuple[str, SkipReason]:
    """Return a message's text without the context around it, and the reason if it is empty."""
    reasons: list[SkipReason] = []
    human: list[str] = []
    for text in texts_of(content):
        if (reason := machine(text.strip())) is not None:
            reasons.append(reason)
        else:
            human.append(text)
    text = without_context("".join(human)).strip()
    if (reason := machine(text)) is not None:
        return "", reason
    return text or _placeholder(content), next(iter(reasons), SkipReason.NO_TEXT)


def machine(text: str) -> SkipReason | None:
    """Return in a word what machine wrote these words, or None if a person did."""
    if text == _NUDGE:
        return SkipReason.AUTO_PROMPT
    if text.startswith(_SCRATCHPAD) and _SNAPSHOT in text:
        return SkipReason.COMPACTION
    if not text.startswith(_SIGNS):
        return None
    reason = next(word for sign, word in _MACHINE if text.startswith(sign))
    if reason == SkipReason.CONTEXT and without_context(text).strip() not in ("", text):
        return None
    return reason


def without_context(text: str) -> str:
    """Return the text without the blocks before and behind it, and the files it refers to."""
    while (block := _BEFORE.match(text)) is not None:
        text = text[block.end() :]
    if (files := _FILES.search(text)) is not None:
        text = text[: files.start()] + _behind_files(text[files.end() :])
    while (start := _last_block(text.rstrip())) is not None:
        text = text[:start]
    return text


def steering(content: Content) -> list[str]:
    """Return what was typed while the agent worked and given to it with a tool's outcome."""
    found = (match for text in texts_of(content) for match in _HINT.finditer(text))
    return [hint for match in found if (hint := (match[1] or match[2] or "").strip())]


def answer(tool: str | None, arguments: object, outcome: str) -> str | None:
    """Return what a person said by way of a tool's outcome, or None if nothing was said."""
    if tool == "ask_user":
        return _answers(arguments, outcome)
    if tool == "exit_plan_mode" and (rejected := _REJECTED.match(outcome)):
        return rejected[1].strip() or None
    return None


def is_command(text: str) -> bool:
    """Say whether this may be a command that calls no model: only an answer tells."""
    return _COMMAND.match(text) is not None


def is_leaving(text: str) -> bool:
    return _LEAVING.match(text) is not None


def is_canned(text: str) -> bool:
    """Say whether the client put these words into the model's mouth."""
    return text.strip() in _CANNED


def is_interrupt(row: Row) -> bool:
    """Say whether a notice tells that the turn was broken off."""
    text = "".join(texts_of(row.content)).strip()
    return text.startswith(_API_ERROR) if row.type == "error" else text in _CANCELLED


def workspace(row: Row) -> str | None:
    """Return the first folder that the client's own account of the workspace names."""
    for text in texts_of(row.content):
        if not text.lstrip().startswith(_ACCOUNTS):
            continue
        if (found := _WORKSPACE.search(text)) is not None:
            return (found[1] or found[2]).strip()
    return None


def _placeholder(content: Content) -> str:
    parts = parts_of(content)
    return _IMAGE if any(part.inline_data or part.file_data for part in parts) else ""


def _behind_files(text: str) -> str:
    """Return what stands behind the last of the files that a prompt refers to."""
    _, end, rest = text.rpartition(_FILES_END)
    return rest if end and _FILES.search(rest) is None else ""


def _last_block(text: str) -> int | None:
    """Return where the block starts that the text ends with."""
    for start, end in _BEHIND:
        if text.endswith(end) and (at := text.rfind(start)) >= 0:
            return at
    return None


def _answers(arguments: object, outcome: str) -> str | None:
    """Return each question with its answer: `"Which one?"="The first", ...`."""
    given = _mapping(_decoded(outcome), "answers")
    questions = arguments.get("questions") if isinstance(arguments, dict) else None
    pairs = [
        f'"{_question(questions, place)}"="{said}"'
        for place, said in given.items()
        if isinstance(said, str) and said.strip()
    ]
    return ", ".join(pairs) or None


def _decoded(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _mapping(value: object, key: str) -> Mapping[str, Any]:
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _question(questions: object, place: str) -> str:
    """Return the question that an answer's place, a number as text, points to."""
    if isinstance(questions, list) and place in map(str, range(len(questions))):
        question = questions[int(place)]
        if isinstance(question, dict) and isinstance(question.get("question"), str):
            return str(question["question"])
    return place
