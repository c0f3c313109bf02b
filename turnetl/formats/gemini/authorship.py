"""Recognition of text under Gemini CLI's user role that the client wrote and not the user.

The patterns are those of Gemini CLI 0.5 to 0.60. Older releases join the parts of a message without
a separator, newer ones keep them. Here both are examined as one text.
"""

import re
from collections.abc import Mapping
from typing import Any

from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.gemini.rows import Content, GeminiRow, parts_of, texts_of
from turnetl.formats.kit.row_decoder import decode_text

_CONTINUE = "System: Please continue."
_PREFIX_REASONS = (
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
_PREFIXES = tuple(prefix for prefix, _ in _PREFIX_REASONS)
_SCRATCHPAD, _SNAPSHOT = "<scratchpad>", "<state_snapshot>"
_LEADING = re.compile(
    r"\s*(?:<(session_context|hook_context)>.*?</\1>"
    r"|Here is (?:the user's editor context as|a summary of changes in the user's editor context)"
    r"[^\n]*\n```json\n.*?\n```(?=\s|$))\s*",
    re.DOTALL,
)
_TRAILING = (("<hook_context>", "</hook_context>"), ("<system_note>", "</system_note>"))
_FILES = re.compile(r"--- Content from referenced (?:files|context) ---")
_FILES_END = "--- End of content ---"
_HINT = re.compile(
    r"User (?:steering update|hints):\s*"
    r'(?:<user_input>\n(.*?)\n</user_input>|"(.*?)"(?=\nInternal instruction: ))',
    re.DOTALL,
)
_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|$)|\?\s*$")
_EXIT_COMMAND = re.compile(r"/(?:quit|exit)\s*$")
_WORKSPACE = re.compile(
    r"\*\*Workspace Directories:\*\*\s*\n\s*- ([^\n]+)"
    r"|working in (?:the directory|the following directories):\s*(?:- )?([^\n]+)"
)
_DESCRIPTIONS = ("<session_context>", "This is the Gemini CLI.", "- **Workspace Directories:**")
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


def prompt(row: GeminiRow) -> tuple[str, SkipReason]:
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
    texts: list[str] = []
    for text in texts_of(content):
        if (reason := skip_reason(text.strip())) is not None:
            reasons.append(reason)
        else:
            texts.append(text)
    text = without_context("".join(texts)).strip()
    if (reason := skip_reason(text)) is not None:
        return "", reason
    return text or _placeholder(content), next(iter(reasons), SkipReason.NO_TEXT)


def skip_reason(text: str) -> SkipReason | None:
    """Return why a text is not the user's, or None if the user wrote it."""
    if text == _CONTINUE:
        return SkipReason.AUTO_PROMPT
    if text.startswith(_SCRATCHPAD) and _SNAPSHOT in text:
        return SkipReason.COMPACTION
    if not text.startswith(_PREFIXES):
        return None
    reason = next(reason for prefix, reason in _PREFIX_REASONS if text.startswith(prefix))
    if reason is SkipReason.CONTEXT and without_context(text).strip() not in ("", text):
        return None
    return reason


def without_context(text: str) -> str:
    """Return the text without the blocks before and after it, and without referenced files."""
    while (block := _LEADING.match(text)) is not None:
        text = text[block.end() :]
    if (files := _FILES.search(text)) is not None:
        text = text[: files.start()] + _after_files(text[files.end() :])
    while (start := _last_block(text.rstrip())) is not None:
        text = text[:start]
    return text


def steering(content: Content) -> list[str]:
    """Return texts that the user typed while the agent worked, sent with a tool's result."""
    hints = (match for text in texts_of(content) for match in _HINT.finditer(text))
    return [text for hint in hints if (text := (hint[1] or hint[2] or "").strip())]


def user_answer(tool: str | None, arguments: object, result: str) -> str | None:
    """Return what the user answered through a tool's result, or None if there is no answer."""
    if tool == "ask_user":
        return _answers(arguments, result)
    if tool == "exit_plan_mode" and (rejected := _REJECTED.match(result)):
        return rejected[1].strip() or None
    return None


def is_command(text: str) -> bool:
    """Return whether this may be a local command, which calls no model: only an answer shows it."""
    return _COMMAND.match(text) is not None


def is_exit_command(text: str) -> bool:
    return _EXIT_COMMAND.match(text) is not None


def is_canned(text: str) -> bool:
    """Return whether the client wrote this text under the model's role."""
    return text.strip() in _CANNED


def is_interrupt(row: GeminiRow) -> bool:
    """Return whether a notice reports that the turn was interrupted."""
    text = "".join(texts_of(row.content)).strip()
    return text.startswith(_API_ERROR) if row.type == "error" else text in _CANCELLED


def working_folder(row: GeminiRow) -> str | None:
    """Return the first folder in the client's description of the workspace."""
    for text in texts_of(row.content):
        if not text.lstrip().startswith(_DESCRIPTIONS):
            continue
        if (match := _WORKSPACE.search(text)) is not None:
            return (match[1] or match[2]).strip()
    return None


def _placeholder(content: Content) -> str:
    parts = parts_of(content)
    return _IMAGE if any(part.inline_data or part.file_data for part in parts) else ""


def _after_files(text: str) -> str:
    """Return the text after the last of the files that a prompt refers to."""
    _, end, rest = text.rpartition(_FILES_END)
    return rest if end and _FILES.search(rest) is None else ""


def _last_block(text: str) -> int | None:
    """Return the start of the block at the end of the text, or None if there is none."""
    for start, end in _TRAILING:
        if text.endswith(end) and (index := text.rfind(start)) >= 0:
            return index
    return None


def _answers(arguments: object, result: str) -> str | None:
    """Return each question with its answer: `"Which one?"="The first", ...`."""
    answers = _mapping(decode_text(result, None), "answers")
    questions = arguments.get("questions") if isinstance(arguments, dict) else None
    pairs = [
        f'"{_question(questions, index)}"="{answer}"'
        for index, answer in answers.items()
        if isinstance(answer, str) and answer.strip()
    ]
    return ", ".join(pairs) or None


def _mapping(value: object, key: str) -> Mapping[str, Any]:
    nested = value.get(key) if isinstance(value, dict) else None
    return nested if isinstance(nested, dict) else {}


def _question(questions: object, index: str) -> str:
    """Return the question of an answer, which names it by its index as text."""
    if isinstance(questions, list) and index in map(str, range(len(questions))):
        question = questions[int(index)]
        if isinstance(question, dict) and isinstance(question.get("question"), str):
            return str(question["question"])
    return index
