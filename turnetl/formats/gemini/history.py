"""The messages of a session, each once, although later rows may rewrite or repeat them.

A session in lines only grows. A changed message is written again completely. Its last version
counts, in the position of the first. Other lines change what the model is shown from then on:
`$set` with all messages, `$patch` with the removed ones, `$rewindTo` with the first removed one.
Removed messages stay in the result, because they were part of the conversation. But when the client
compresses, masks or loads the history, it writes the messages that it keeps once more, under new
ids. Such a copy is recognised by its text: a message that was just removed has the same text.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.base import SourceSpan
from turnetl.formats.gemini import authorship
from turnetl.formats.gemini.rows import (
    MESSAGE_TYPES,
    MODEL_TYPES,
    NOTICE_TYPES,
    GeminiRow,
    SessionUpdate,
    texts_of,
)
from turnetl.formats.kit.usage import greatest_usage

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
    """Span of the last version."""
    native_id: str
    """Empty if neither the message nor the session has an id."""
    session: str
    is_sidechain: bool
    is_copy: bool = False


@dataclass(slots=True)
class GeminiHistory:
    """Follows the rows of one archive."""

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
            self.update(row.update or SessionUpdate(row.session_id, row.kind, row.directories))
            self._replace(number, row.update.messages if row.update else row.messages, span)

    def update(self, update: SessionUpdate) -> None:
        """Read the metadata of a session."""
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
            self._add_folder(authorship.working_folder(row))
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
        return has_context and bool(authorship.written(row.content)[0])
    return row.type in MODEL_TYPES


def _text_keys(row: GeminiRow) -> list[str]:
    """Return the keys by which a copy of a message is recognised: its role with each text."""
    if row.type in NOTICE_TYPES:
        return []
    visible = (_INVISIBLE.sub("", text).strip() for text in texts_of(row.content))
    role = "user" if row.type == "user" else "model"
    texts = (text for text in visible if text and authorship.skip_reason(text) is None)
    return [f"{role}:{text}" for text in texts if not authorship.is_canned(text)]
