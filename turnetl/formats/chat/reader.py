"""The conversations of one archive, whatever it is made of: rows, lines, an array, a document."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, repeat

from turnetl.formats.base import ParseCounts, ParsedArchive, SourceSpan
from turnetl.formats.chat.conversation import Talk
from turnetl.formats.chat.rows import (
    LISTS,
    ROWS,
    Message,
    Row,
    answer_of,
    messages_of,
    name_of,
    pieces_of,
)
from turnetl.formats.chat.session_names import name_growing, name_whole
from turnetl.formats.kit.documents import is_document, parse_document, read_elements
from turnetl.formats.kit.jsonl import read_lines
from turnetl.formats.kit.lines import blank_bom
from turnetl.formats.kit.times import parse_timestamp
from turnetl.skip_reasons import SkipReason

_LIST = re.compile(rf'"({"|".join(LISTS)})"\s*:\s*\['.encode())


def read(data: bytes) -> ParsedArchive:
    """Read a whole archive."""
    if not is_document(data):
        # Who writes lines ends each of them; what has one line without an end was saved as a whole.
        reader = _Reader(data, may_grow=not data.endswith(b"\n"))
        read_lines(data, ROWS, reader.take, reader.counts)
        return reader.reading()
    reader = _Reader(data, may_grow=not blank_bom(data).lstrip().startswith(b"["))
    parts = parse_document(data, _list_in(data) if reader.may_grow else None)
    reader.root = _root(parts.fields)
    read_elements(data, parts, ROWS, reader.take, reader.counts)
    return reader.reading()


@dataclass(slots=True)
class _Conversation:
    """A conversation as far as it was read."""

    name: str
    talk: Talk
    messages: list[Message]


@dataclass(slots=True)
class _Reader:
    data: bytes
    may_grow: bool
    """Whether a conversation that is alone in the archive may still go on."""
    counts: ParseCounts = field(default_factory=ParseCounts)
    root: Row = field(default_factory=Row)
    """What is said of the conversation beside its messages, if the archive is a document of one."""
    _written: list[_Conversation] = field(default_factory=list)
    """Those that are a row each."""
    _rows: dict[str, _Conversation] = field(default_factory=dict)
    """Those whose messages are rows, by the id that the rows name."""

    def take(self, row: Row, place: SourceSpan) -> SkipReason | None:
        """Take a message or a conversation; return the reason if it gave nothing to a turn."""
        if row.role or row.sender:
            return self._row(row, place)
        messages = messages_of(row)
        if not messages:
            return SkipReason.NO_MESSAGES
        talk = Talk(self.counts, parse_timestamp(row.time), row.model)
        self._written.append(_Conversation(name_of(row), talk, messages))
        for message, at in zip(messages, self._places(place, len(messages)), strict=True):
            talk.say(message, at)
        return None if talk.turns else SkipReason.PREAMBLE

    def reading(self) -> ParsedArchive:
        self._end()
        alone = self.may_grow and len(self._written) == 1 and not self._rows
        growing = [*self._rows.values(), *(self._written if alone else [])]
        for one in growing:
            name_growing(one.name, one.messages, one.talk.turns)
        seen: Counter[str] = Counter()
        for one in [] if alone else self._written:
            name_whole(one.name, one.messages, one.talk.turns, seen)
        conversations = [*self._written, *self._rows.values()]
        turns = [turn for one in conversations for turn in one.talk.turns]
        self.counts.turns = len(turns)
        return ParsedArchive(turns, self.counts, None)

    def _row(self, row: Row, place: SourceSpan) -> SkipReason | None:
        named = row.conversation_id if row.conversation_id is not None else row.session_id
        key = "" if named is None else str(named)
        found = self._rows.get(key)
        if found is None:
            talk = Talk(self.counts, parse_timestamp(self.root.time), self.root.model)
            found = self._rows[key] = _Conversation(key or name_of(self.root), talk, [])
        found.messages.append(row)
        return found.talk.say(row, place)

    def _end(self) -> None:
        """Say the preferred answer that stands beside the messages of a document."""
        last = self._rows.get("")
        if last is None:
            return
        place = SourceSpan(1, self.data.count(b"\n") + 1, 0, len(self.data))
        for message in answer_of(self.root, last.messages):
            last.messages.append(message)
            last.talk.say(message, place)

    def _places(self, place: SourceSpan, number: int) -> Iterator[SourceSpan]:
        """Yield where each message stands: what is written over many lines has lines of its own."""
        if place.line == place.last_line:
            return repeat(place, number)
        found = _inside(self.data[place.start : place.end], place)
        found = found if len(found) <= number else []
        return chain(found, repeat(place, number - len(found)))


def _inside(raw: bytes, place: SourceSpan) -> list[SourceSpan]:
    """Return where the messages of a conversation stand."""
    found: list[SourceSpan] = []
    line, at = place.line, 0
    for message in pieces_of(raw):
        start = raw.find(message, at)
        line += raw.count(b"\n", at, start)
        last, at = line + message.count(b"\n"), start + len(message)
        found.append(SourceSpan(line, last, place.start + start, place.start + at))
        line = last
    return found


def _list_in(data: bytes) -> str | None:
    """Return the key under which the first list of messages stands."""
    found = _LIST.search(data)
    return found[1].decode() if found is not None else None


def _root(fields: Mapping[str, bytes]) -> Row:
    """Return what stands in the root of a document beside its messages."""
    inside = b",".join(b'"%s":%s' % (name.encode(), raw) for name, raw in fields.items())
    rows, _ = ROWS.decode_damaged(b"{%s}" % inside)
    return rows[0] if rows else Row()
