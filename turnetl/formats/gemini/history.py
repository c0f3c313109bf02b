"""The messages of a session, each once, although later rows may rewrite or repeat them.

A changed message is written again completely. Its last version counts, in the position of the
first. Other lines change what the model is shown from then on: `$set` with all messages, `$patch`
with the removed ones, `$rewindTo` with the first removed one. Removed messages stay in the result.
When the client compresses, masks or loads the history, it writes the messages that it keeps once
more, under new ids. Such a copy has the text of a message that was just removed.

Text of the client under the user's role is recognised by the patterns of Gemini CLI 0.5 to 0.60.
Older releases join the parts of a message without a separator: all are examined as one text.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from turnetl.base.reason import SkipReason
from turnetl.formats.gemini.rows import (
    MESSAGE_TYPES,
    MODEL_TYPES,
    NOTICE_TYPES,
    Content,
    GeminiRow,
    SessionUpdate,
    parts_of,
    texts_of,
)
from turnetl.formats.kit.row_decoder import decode_text
from turnetl.formats.kit.usage import greatest_usage
from turnetl.formats.port import SourceSpan

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CONTEXT = "<session_context>"
_SUBAGENT = "subagent"
_INVISIBLE = re.compile(r"[\u200b-\u200f\ufeff]|<!--.*?-->", re.DOTALL)


@dataclass(slots=True)
class GeminiMessage:
    """The last version of a message."""

    row: GeminiRow
    number: int
    """Number of the row with the last version."""
    span: SourceSpan
    """Span of the first version."""
    last_span: SourceSpan
    native_id: str
    """Empty if neither the message nor the session has an id."""
    session: str
    is_sidechain: bool
    is_copy: bool = False


@dataclass(slots=True)
class GeminiHistory:
    messages: list[GeminiMessage] = field(default_factory=list)
    """Messages, in the order of their first versions."""
    reasons: dict[int, SkipReason | None] = field(default_factory=dict)
    """The reason of each row, by its number; None if it added something to a turn."""
    folders: dict[str, str] = field(default_factory=dict)
    """The first working directory that each session names."""
    _session: str = ""
    _is_sidechain: bool = False
    _by_key: dict[str, GeminiMessage] = field(default_factory=dict)
    _removed: dict[str, GeminiMessage] = field(default_factory=dict)
    """Messages that the model is no longer shown."""
    _recent: list[GeminiMessage] = field(default_factory=list)
    """Messages after the last response of a model, which may be copies."""

    def read(self, number: int, row: GeminiRow, span: SourceSpan) -> None:
        """Read a row. The reasons of messages follow when their turns are built."""
        if row.rewind_to is not None:
            self._rewind(row.rewind_to)
            self.set_reason(number, SkipReason.REWIND)
        elif row.patch is not None:
            self._remove(row.patch.remove_ids or [])
            self.set_reason(number, SkipReason.HISTORY)
        elif row.type in MESSAGE_TYPES:
            self._write(number, row, span)
        elif row.type is not None:
            self.set_reason(number, SkipReason.OTHER)
        else:
            update = row.update or row
            self.update(update)
            self._replace(number, update.messages, span)

    def update(self, update: SessionUpdate) -> None:
        self._session = update.session_id or self._session
        if update.kind is not None:
            self._is_sidechain = update.kind == _SUBAGENT
        self._add_folder(next(iter(update.directories or []), None))

    def finish(self) -> None:
        """Find copies after the last line: the file may end before the history is complete."""
        if any(map(_is_rewritten, self._recent)):
            recent = {id(message) for message in self._recent}
            self._removed = {
                key: message for key, message in self._by_key.items() if id(message) not in recent
            }
            self._find_copies()

    def set_reason(self, number: int, reason: SkipReason | None) -> None:
        """Set the reason of a row. A row that added anything counts as used."""
        if self.reasons.setdefault(number, reason) is not None and reason is None:
            self.reasons[number] = None

    def _add_folder(self, folder: str | None) -> None:
        if folder is not None:
            self.folders.setdefault(self._session, folder)

    def _write(self, number: int, row: GeminiRow, span: SourceSpan) -> None:
        native = self._native_id(row.id)
        key = native or f"#{row.id or number}"
        known = self._by_key.get(key)
        if known is not None:
            self.set_reason(known.number, SkipReason.SUPERSEDED)
            row.tokens = greatest_usage(known.row.tokens, row.tokens)
            known.row, known.number, known.last_span = row, number, span
            self._recent.clear()
            return
        if row.type == "user":
            self._add_folder(working_folder(row))
        message = GeminiMessage(row, number, span, span, native, self._session, self._is_sidechain)
        self.messages.append(message)
        self._by_key[key] = message
        if row.type in MODEL_TYPES and row.model is not None:
            self._recent.clear()
        else:
            self._recent.append(message)

    def _native_id(self, own_id: str | None) -> str:
        """Return a message's own id if it is globally unique, else the session's id and it."""
        if not own_id or _UUID.fullmatch(own_id):
            return own_id or ""
        return f"{self._session}/{own_id}" if self._session else ""

    def _rewind(self, to: str) -> None:
        """Remove a message and all after it; all messages if it is not among them."""
        keys = list(self._by_key)
        target = self._native_id(to)
        start = keys.index(target) if target in keys else 0
        self._removed |= {key: self._by_key[key] for key in keys[start:]}
        self._recent.clear()

    def _remove(self, ids: Iterable[str]) -> None:
        keys = [key for key in map(self._native_id, ids) if key in self._by_key]
        self._removed |= {key: self._by_key[key] for key in keys}
        self._find_copies()

    def _replace(self, number: int, rows: list[GeminiRow] | None, span: SourceSpan) -> None:
        """Read all messages that the model is shown from now on. Known messages stay unchanged."""
        is_metadata = rows is None
        self.set_reason(number, SkipReason.SESSION_METADATA if is_metadata else SkipReason.HISTORY)
        if not rows:
            return
        shown = {self._native_id(row.id) for row in rows}
        for row in rows:
            if row.type in MESSAGE_TYPES and self._native_id(row.id) not in self._by_key:
                self._write(number, row, span)
        self._removed = {key: message for key, message in self._by_key.items() if key not in shown}
        self._find_copies()

    def _find_copies(self) -> None:
        """Mark the recent messages that repeat a message that the model is no longer shown."""
        removed = {id(message) for message in self._removed.values()}
        originals = (message for message in self._removed.values() if not message.is_copy)
        available = Counter(key for message in originals for key in _text_keys(message.row))
        for message in self._recent:
            if id(message) in removed:
                continue
            keys = Counter(_text_keys(message.row))
            message.is_copy = bool(keys) and keys <= available
            if message.is_copy:
                available -= keys
        self._recent.clear()


def _is_rewritten(message: GeminiMessage) -> bool:
    """Return whether the client writes such a message only when it rewrites its history."""
    row = message.row
    if row.type == "user":
        has_context = any(text.startswith(_CONTEXT) for text in texts_of(row.content))
        return has_context and bool(written_text(row.content)[0])
    return row.type in MODEL_TYPES


def _text_keys(row: GeminiRow) -> list[str]:
    """Return the keys by which a copy of a message is recognised: its role with each text."""
    if row.type in NOTICE_TYPES:
        return []
    visible = (_INVISIBLE.sub("", text).strip() for text in texts_of(row.content))
    role = "user" if row.type == "user" else "model"
    texts = (text for text in visible if text and skip_reason(text) is None)
    return [f"{role}:{text}" for text in texts if not is_canned(text)]


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


def prompt_text(row: GeminiRow) -> tuple[str, SkipReason]:
    """Return the text that the user wrote; if it is empty, the reason why the row is no prompt."""
    text, reason = written_text(row.content)
    if not text:
        return "", reason
    if hints := steering_text(row.content):
        return "\n\n".join(hints), reason
    return written_text(row.display_content)[0] or text, reason


def written_text(content: Content) -> tuple[str, SkipReason]:
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


def steering_text(content: Content) -> list[str]:
    """Return texts that the user typed while the agent worked, sent with a tool's result."""
    hints = (match for text in texts_of(content) for match in _HINT.finditer(text))
    return [text for hint in hints if (text := (hint[1] or hint[2] or "").strip())]


def user_answer(tool: str | None, arguments: object, result: str) -> str | None:
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
