"""The messages of a session, each once, whatever was written over it later.

A session in lines only grows: a message that changed is written again whole, and the last writing
counts, in the place of the first. Other lines say what the model is shown from now on: `$set` with
all messages, `$patch` with those that left, `$rewindTo` with the first that did. What left was said
all the same and stays here. But when history is compressed, masked or loaded, the client writes
what it keeps once more, under new ids: such copies are known by their words, which a message that
has just left had too.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from turnetl.formats.base import SourceSpan
from turnetl.formats.gemini import authorship
from turnetl.formats.gemini.rows import KINDS, NOTICES, SPOKEN, Row, Update, texts_of
from turnetl.skip_reasons import SkipReason

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CONTEXT = "<session_context>"
_SUBAGENT = "subagent"
_UNSEEN = re.compile(r"[\u200b-\u200f\ufeff]|<!--.*?-->", re.DOTALL)


@dataclass(slots=True)
class Message:
    """A message as it was written last."""

    row: Row
    number: int
    """Of the row that holds this writing."""
    place: SourceSpan
    """Of the first writing."""
    end: SourceSpan
    """Of the last writing."""
    native_id: str
    """Empty where neither message nor session has an id."""
    session: str
    is_sidechain: bool
    is_copy: bool = False


@dataclass(slots=True)
class History:
    """Follows the rows of one archive."""

    messages: list[Message] = field(default_factory=list)
    """In the order in which they were first written."""
    reasons: dict[int, SkipReason | None] = field(default_factory=dict)
    """What became of each row, by its number: None if it gave something to a turn."""
    folders: dict[str, str] = field(default_factory=dict)
    """The first folder that each session names."""
    _session: str = ""
    _is_sidechain: bool = False
    _known: dict[str, Message] = field(default_factory=dict)
    _gone: dict[str, Message] = field(default_factory=dict)
    """What the model is no longer shown."""
    _fresh: list[Message] = field(default_factory=list)
    """The messages behind the last answer that a model gave: among them may be copies."""

    def take(self, number: int, row: Row, place: SourceSpan) -> None:
        """Take a row; the reasons of messages follow when their turns are made."""
        if row.rewind_to is not None:
            self._rewind(row.rewind_to)
            self.note(number, SkipReason.REWIND)
        elif row.patch is not None:
            self._forget(row.patch.remove_ids or [])
            self.note(number, SkipReason.HISTORY)
        elif row.type in KINDS:
            self._write(number, row, place)
        elif row.type is not None:
            self.note(number, SkipReason.OTHER)
        else:
            self.know(row.update or Update(row.session_id, row.kind, row.directories))
            self._replace(number, row.update.messages if row.update else row.messages, place)

    def know(self, update: Update) -> None:
        """Take what a session says about itself."""
        self._session = update.session_id or self._session
        if update.kind is not None:
            self._is_sidechain = update.kind == _SUBAGENT
        self._work_in(next(iter(update.directories or []), None))

    def finish(self) -> None:
        """Look for copies behind the last line: their writing may have been cut off."""
        if any(map(_is_written_anew, self._fresh)):
            fresh = {id(one) for one in self._fresh}
            self._gone = {key: one for key, one in self._known.items() if id(one) not in fresh}
            self._find_copies()

    def note(self, number: int, reason: SkipReason | None) -> None:
        """Say what became of a row: one that gave anything is used, whatever else it held."""
        if self.reasons.setdefault(number, reason) is not None and reason is None:
            self.reasons[number] = None

    def _work_in(self, folder: str | None) -> None:
        if folder is not None:
            self.folders.setdefault(self._session, folder)

    def _write(self, number: int, row: Row, place: SourceSpan) -> None:
        native = self._native(row.id)
        key = native or f"#{row.id or number}"
        before = self._known.get(key)
        if before is not None:
            self.note(before.number, SkipReason.SUPERSEDED)
            before.row, before.number, before.end = row, number, place
            self._fresh.clear()
            return
        if row.type == "user":
            self._work_in(authorship.workspace(row))
        message = Message(row, number, place, place, native, self._session, self._is_sidechain)
        self.messages.append(message)
        self._known[key] = message
        if row.type in SPOKEN and row.model is not None:
            self._fresh.clear()
        else:
            self._fresh.append(message)

    def _native(self, id: str | None) -> str:  # noqa: A002  as the rows call it
        """Return a message's own id if it is one for the whole world, else its session's and it."""
        if not id or _UUID.fullmatch(id):
            return id or ""
        return f"{self._session}/{id}" if self._session else ""

    def _rewind(self, to: str) -> None:
        """Forget a message and all behind it; all there are if it is not among them."""
        keys = list(self._known)
        target = self._native(to)
        start = keys.index(target) if target in keys else 0
        self._gone |= {key: self._known[key] for key in keys[start:]}
        self._fresh.clear()

    def _forget(self, ids: Iterable[str]) -> None:
        left = [key for key in map(self._native, ids) if key in self._known]
        self._gone |= {key: self._known[key] for key in left}
        self._find_copies()

    def _replace(self, number: int, rows: list[Row] | None, place: SourceSpan) -> None:
        """Take all messages that the model is shown from now on; those known stay as they are."""
        self.note(number, SkipReason.SESSION_METADATA if rows is None else SkipReason.HISTORY)
        if not rows:
            return
        listed = {self._native(row.id) for row in rows}
        for row in rows:
            if row.type in KINDS and self._native(row.id) not in self._known:
                self._write(number, row, place)
        self._gone = {key: one for key, one in self._known.items() if key not in listed}
        self._find_copies()

    def _find_copies(self) -> None:
        """Mark those of the fresh messages that repeat one the model is no longer shown."""
        gone = {id(one) for one in self._gone.values()}
        spoken = Counter(
            text for one in self._gone.values() if not one.is_copy for text in _keys(one.row)
        )
        for one in self._fresh:
            if id(one) in gone:
                continue
            keys = Counter(_keys(one.row))
            one.is_copy = bool(keys) and keys <= spoken
            if one.is_copy:
                spoken -= keys
        self._fresh.clear()


def _is_written_anew(one: Message) -> bool:
    """Say whether only the client, writing its history once more, writes a message like this."""
    if one.row.type == "user":
        led = any(text.startswith(_CONTEXT) for text in texts_of(one.row.content))
        return led and bool(authorship.written(one.row.content)[0])
    return one.row.type in SPOKEN


def _keys(row: Row) -> list[str]:
    """Return what a message is known by when it is written again: its words, piece by piece."""
    if row.type in NOTICES:
        return []
    texts = (_UNSEEN.sub("", text).strip() for text in texts_of(row.content))
    kind = "user" if row.type == "user" else "model"
    said = (text for text in texts if text and authorship.machine(text) is None)
    return [f"{kind}:{text}" for text in said if not authorship.is_canned(text)]
