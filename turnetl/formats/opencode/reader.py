"""Reader of OpenCode: the output of `opencode export`, files of its store, rows of its database.

All describe a session completely, and give the same turns. Its messages and parts are collected in
any order; an object is recognised by its keys. A message of OpenCode 2 is one row with a `seq`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from turnetl.base.batched import grouped
from turnetl.base.reason import SkipReason
from turnetl.formats.kit.counts import has_too_many_values, limited
from turnetl.formats.kit.json_archives import (
    JsonDocument,
    count_elements,
    element_spans,
    object_fields,
    overwrite_message,
    parse_document,
)
from turnetl.formats.kit.json_scanner import DECODE_ERRORS
from turnetl.formats.kit.probe import LazyObject, split_objects
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder, unread_reason
from turnetl.formats.kit.turn_builder import TurnBuilder
from turnetl.formats.kit.usage import SubagentMessages, greatest_usage
from turnetl.formats.opencode.conversation import OpenCodeConversation, SkipReasons
from turnetl.formats.opencode.rows import (
    ELEMENTS,
    INFOS,
    PARTS,
    SESSIONS,
    V2_MESSAGES,
    ExportElement,
    MessageInfo,
    OpenCodeMessage,
    OpenCodePart,
    OpenCodeSession,
    V2Message,
    build_message,
    folder_of,
    to_v1,
)
from turnetl.formats.port import ParseCounts, ParsedArchive, Probe, RawTurn, SourceSpan

_SESSION_KEYS = ("title", "version", "projectID")
_SESSION = "ses_"
_ROLES = ("user", "assistant")


def is_export(root: LazyObject) -> bool:
    """Recognise an export by its session, which a truncated one has alone, or its first message."""
    info = root.object_at("info")
    if info is None:
        return False
    if _MESSAGES not in root:
        return len(root) == 1 and is_session(info)
    if is_session(info) or str(info.get("id")).startswith(_SESSION):
        return True
    first = root.object_at(_MESSAGES)
    if first is None or not isinstance(first.get("parts"), list):
        return False
    message = first.get("info")
    return isinstance(message, dict) and message.get("role") in _ROLES and _has_time(message)


def is_session(row: Mapping[str, Any]) -> bool:
    """Recognise a session by its id or its project, by its time, and by another of its fields."""
    if not isinstance(row.get("id"), str) or "role" in row or "type" in row:
        return False
    identified = row["id"].startswith(_SESSION) or ("projectID" in row and "directory" in row)
    return identified and _has_time(row) and any(key in row for key in _SESSION_KEYS)


def is_message(row: Mapping[str, Any]) -> bool:
    """Recognise a message by its role, its time, and the session that it names."""
    if not isinstance(row.get("id"), str) or row.get("role") not in _ROLES:
        return False
    if isinstance(row.get("sessionID"), str):
        return _has_time(row)
    metadata = row.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(row.get("parts"), list):
        return False
    return isinstance(metadata.get("sessionID"), str) and _has_time(metadata)


def is_part(row: Mapping[str, Any]) -> bool:
    return all(isinstance(row.get(key), str) for key in ("id", "sessionID", "messageID", "type"))


def _has_time(row: Mapping[str, Any]) -> bool:
    time = row.get("time")
    return isinstance(time, dict) and "created" in time


@dataclass(slots=True)
class CollectedMessages:
    """Is filled row by row. `finish` is called last."""

    counts: ParseCounts = field(default_factory=ParseCounts)
    own_session: OpenCodeSession = field(default_factory=OpenCodeSession)
    """The session of messages whose own session is not in the archive."""
    spans: list[SourceSpan] = field(default_factory=list)
    reasons: SkipReasons = field(default_factory=dict)
    _sessions: dict[str, OpenCodeSession] = field(default_factory=dict)
    _messages: list[OpenCodeMessage] = field(default_factory=list)
    _messages_by_id: dict[str, OpenCodeMessage] = field(default_factory=dict)
    parts: list[tuple[OpenCodePart, SourceSpan]] = field(default_factory=list)
    _subagents: SubagentMessages = field(default_factory=SubagentMessages)
    _runs: dict[str, RawTurn] = field(default_factory=dict)

    def add_session(self, session: OpenCodeSession, span: SourceSpan) -> None:
        self.reasons[span.start] = SkipReason.ENVELOPE
        self._sessions.setdefault(session.id or "", session)

    def add_message(self, message: OpenCodeMessage) -> None:
        if message.info.id is None:
            self._messages.append(message)
        elif message.info.id in self._messages_by_id:
            self.reasons.setdefault(message.span.start, SkipReason.DUPLICATE)
            known = self._messages_by_id[message.info.id].info
            known.tokens = greatest_usage(known.tokens, message.info.tokens)
        else:
            self._messages_by_id[message.info.id] = message
            self._messages.append(message)

    def finish(self) -> ParsedArchive:
        self._assign_parts()
        turns = [turn for turns in self._turns() for turn in turns]
        builder = TurnBuilder(self.counts, turns, subagents=self._subagents, runs=self._runs)
        return builder.finish(self.own_session.id, self._cwd())

    def _assign_parts(self) -> None:
        """Add each part to its message, once. Other writers number the parts of each message."""
        seen: set[tuple[str | None, str]] = set()
        for part, span in self.parts:
            message = self._messages_by_id.get(part.message_id or "")
            if message is None:
                self.reasons[span.start] = SkipReason.ORPHAN
                self.counts.tool_calls += part.type == "tool"
            elif part.id is not None and (part.message_id, part.id) in seen:
                self.reasons.setdefault(span.start, SkipReason.DUPLICATE)
            else:
                message.parts.append((part, span))
            if part.id is not None:
                seen.add((part.message_id, part.id))

    def _turns(self) -> Iterator[list[RawTurn]]:
        own_id = self.own_session.id or ""
        by_session = grouped((one.info.session_id or own_id, one) for one in self._messages)
        for session_id, messages in by_session.items():
            session = self._sessions.get(session_id, self.own_session)
            builder = TurnBuilder(self.counts, subagents=self._subagents, runs=self._runs)
            OpenCodeConversation(session, builder, self.reasons).read(messages)
            yield builder.turns

    def _cwd(self) -> str | None:
        sessions = (self.own_session, *self._sessions.values())
        of_sessions = (session.directory or folder_of(session.location) for session in sessions)
        of_messages = (folder_of(message.info.path) for message in self._messages)
        return next(filter(None, (*of_sessions, *of_messages)), None)


_MESSAGES = "messages"
_EXPORT = re.compile(rb'\s*\{\s*"(?:info|messages)"\s*:')


class OpenCode:
    def sniff(self, probe: Probe) -> bool:
        """Recognise an export by its session, the store by any of its files."""
        if is_export(probe.first):
            return True
        return any(is_session(row) or is_message(row) or is_part(row) for row in probe.rows)

    def read(self, data: bytes) -> ParsedArchive:
        data = overwrite_message(data)
        collected = CollectedMessages()
        if _is_export(data):
            document = parse_document(data, _MESSAGES)
            _read_export(data, document, collected)
            return _finish(data, document, collected, between=SkipReason.ENVELOPE)
        document = JsonDocument({}, limited(split_objects(data)))
        read_files(data, document, collected)
        parsed = _finish(data, document, collected, between=SkipReason.BLANK)
        parsed.counts.blank_lines = parsed.counts.skipped[SkipReason.BLANK]
        return parsed


def _finish(
    data: bytes, document: JsonDocument, collected: CollectedMessages, *, between: SkipReason
) -> ParsedArchive:
    parsed = collected.finish()
    reasons = (
        (span, collected.reasons.get(span.start, SkipReason.OTHER)) for span in collected.spans
    )
    count_elements(data, document, reasons, parsed.counts, between=between)
    return parsed


def _is_export(data: bytes) -> bool:
    """Return whether the archive is an export. A truncated one is recognised by its start."""
    if _EXPORT.match(data) is not None:
        return True
    try:
        return "info" in object_fields(data)
    except DECODE_ERRORS:
        return False


def _read_export(data: bytes, document: JsonDocument, collected: CollectedMessages) -> None:
    info = document.fields.get("info", b"")
    collected.own_session = SESSIONS.decode_first(info) or OpenCodeSession()
    for span, raw in element_spans(data, document):
        collected.spans.append(span)
        element = ELEMENTS.decode_first(raw)
        if element is None:
            collected.reasons[span.start] = unread_reason(raw)
        else:
            collected.add_message(build_message(span, *_message(element, raw)))


def _message(element: ExportElement, raw: bytes) -> tuple[MessageInfo, list[OpenCodePart]]:
    if element.info is not None:
        return element.info, element.parts or []
    return to_v1(V2_MESSAGES.decode_first(raw) or V2Message())


_StoredFile = MessageInfo | OpenCodePart | OpenCodeSession | V2Message


class FileKind(msgspec.Struct, gc=False, rename={"message_id": "messageID"}):
    """The fields that distinguish the kinds of files."""

    role: str | None = None
    type: str | None = None
    message_id: str | None = None
    seq: int | None = None


_KINDS = RowDecoder(FileKind, Envelope(own=(("id", "sessionID"), ("id", "time", "title"))))


def read_files(data: bytes, document: JsonDocument, collected: CollectedMessages) -> None:
    """Collect the content of the files. An invalid file is counted, and reading continues."""
    for span, raw in element_spans(data, document):
        collected.spans.append(span)
        files, values = _files(raw)
        collected.counts.count_values(values, span.line)
        if not files:
            is_large = has_too_many_values(raw)
            reason = SkipReason.TOO_MANY_VALUES if is_large else SkipReason.INVALID_JSON
            collected.reasons[span.start] = reason
        for file in files:
            _add(file, span, collected)


def _add(file: _StoredFile, span: SourceSpan, collected: CollectedMessages) -> None:
    if isinstance(file, OpenCodeSession):
        collected.add_session(file, span)
    elif isinstance(file, OpenCodePart):
        collected.parts.append((file, span))
    elif isinstance(file, V2Message):
        collected.add_message(build_message(span, *to_v1(file)))
    else:
        collected.add_message(build_message(span, file))


def _files(raw: bytes) -> tuple[list[_StoredFile], int]:
    """Return the files in the bytes, and the number of values: see `RowDecoder.decode_damaged`."""
    kind = _KINDS.decode(raw)
    row = _decoder(kind).decode(raw) if kind is not None else None
    if row is not None:
        return [row], 1
    kinds, values = _KINDS.decode_damaged(raw)
    files = [_decoder(placed.row).decode_first(raw[placed.start : placed.end]) for placed in kinds]
    return [file for file in files if file is not None], values


def _decoder(
    kind: FileKind,
) -> (
    RowDecoder[MessageInfo]
    | RowDecoder[OpenCodePart]
    | RowDecoder[OpenCodeSession]
    | RowDecoder[V2Message]
):
    if kind.role is not None:
        return INFOS
    if kind.seq is not None:
        return V2_MESSAGES
    return PARTS if kind.message_id is not None or kind.type is not None else SESSIONS
