"""Archives of conversations: a row on each line, one document, or an export of many conversations.

Most exports are a single line. A line of an export is used if any message on it is.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.counts import limited
from turnetl.formats.kit.json_archives import (
    count_elements,
    element_spans,
    parse_document,
    read_elements,
    read_lines,
)
from turnetl.formats.kit.message_parts import first_of
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder, decode_text, unread_reason
from turnetl.formats.port import ParsedArchive, Probe, SourceSpan

_Row = TypeVar("_Row", bound=msgspec.Struct)
Handle = Callable[[Conversation, _Row], SkipReason | None]
"""Reads one row into the conversation."""


def read_conversation(
    data: bytes, decoder: RowDecoder[_Row], handle: Handle[_Row]
) -> ParsedArchive:
    """Read an archive with one row on each line, or with all in one array."""
    talk = Conversation()
    read_lines(data, decoder, _reading(talk, handle), talk.builder.counts)
    return talk.finish()


class LineReader(Generic[_Row]):
    """The reader of an agent that writes a row on each line, made of what is its own.

    Args:
        row: the fields that are used.
        keys: sets of keys; an object with all keys of one of them is a row, wherever it is.
        is_row: whether a row is one that only this agent writes. One is enough.
        handle: reads one row into the conversation.
    """

    def __init__(
        self,
        row: type[_Row],
        keys: Collection[Collection[str]],
        is_row: Callable[[Mapping[str, Any]], bool],
        handle: Handle[_Row],
    ) -> None:
        self._decoder = RowDecoder(row, Envelope(own=keys))
        self._is_row, self._handle = is_row, handle

    def sniff(self, probe: Probe) -> bool:
        return any(map(self._is_row, probe.rows))

    def read(self, data: bytes) -> ParsedArchive:
        return read_conversation(data, self._decoder, self._handle)


def read_messages(
    data: bytes,
    key: str,
    decoder: RowDecoder[_Row],
    handle: Handle[_Row],
    begin: Callable[[Conversation, dict[str, Any]], object] = lambda _, fields: fields,
) -> ParsedArchive:
    """Read a document with the messages under a key, or with nothing but them.

    `begin` reads the fields around the messages.
    """
    document = parse_document(data, key)
    talk = Conversation()
    begin(talk, {name: _decoded(raw) for name, raw in document.fields.items()})
    read_elements(data, document, decoder, _reading(talk, handle), talk.builder.counts)
    return talk.finish()


def _reading(
    talk: Conversation, handle: Handle[_Row]
) -> Callable[[_Row, SourceSpan], SkipReason | None]:
    def read(row: _Row, span: SourceSpan) -> SkipReason | None:
        talk.span, talk.time = span, None
        return handle(talk, row)

    return read


def _decoded(raw: bytes) -> Any:
    return decode_text(raw.decode("utf-8", "replace"), None)


PlacedMessage = tuple[int, int, dict[str, Any] | SkipReason]
"""Offset and end in the bytes of its conversation; the message, or why it is not read."""
Split = Callable[[Conversation, _Row, bytes], Iterable[PlacedMessage]]
"""Starts a session, and returns its messages in the order in which they were said."""
_CountedSpan = tuple[SourceSpan, SkipReason | None]


def read_export(
    data: bytes,
    decoder: RowDecoder[_Row],
    split: Split[_Row],
    handle: Callable[[Conversation, dict[str, Any]], SkipReason | None],
) -> ParsedArchive:
    """Read an array of conversations, or a single one; `handle` reads a message."""
    document = parse_document(data)
    talk = Conversation()

    def read() -> Iterator[_CountedSpan]:
        for span, raw in element_spans(data, document):
            row = decoder.decode_first(raw)
            if row is None:
                yield span, unread_reason(raw)
                continue
            messages = [*_read_messages(talk, data, span, split(talk, row, raw), handle)]
            messages.sort(key=lambda message: message[0].start)
            yield from messages or [(span, SkipReason.NO_MESSAGES)]

    count_elements(data, document, _by_line(limited(read())), talk.builder.counts)
    return talk.finish()


def _read_messages(
    talk: Conversation,
    data: bytes,
    conversation: SourceSpan,
    messages: Iterable[PlacedMessage],
    handle: Callable[[Conversation, dict[str, Any]], SkipReason | None],
) -> Iterator[_CountedSpan]:
    for start, end, message in messages:
        first, last = conversation.start + start, conversation.start + end
        line = conversation.line + data.count(b"\n", conversation.start, first)
        talk.span = SourceSpan(line, line + data.count(b"\n", first, last), first, last)
        talk.time = None
        yield talk.span, message if isinstance(message, SkipReason) else handle(talk, message)


def _by_line(messages: Iterable[_CountedSpan]) -> list[_CountedSpan]:
    """Return spans of whole lines, in order, that have no line in common."""
    merged: list[_CountedSpan] = []
    for span, reason in messages:
        line, reasons = span.line, [reason]
        last = span.last_line
        if merged and line <= merged[-1][0].last_line:
            before, other = merged.pop()
            line, last, reasons = before.line, max(before.last_line, last), [other, reason]
        whole = SourceSpan(line, last, span.start, span.end, last - line + 1)
        merged.append((whole, first_of(reasons)))
    return merged
