"""Reading of concatenated files of OpenCode's store: a session, its messages, their parts."""

import msgspec

from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.base import SourceSpan
from turnetl.formats.kit.damaged_lines import Envelope
from turnetl.formats.kit.documents import JsonDocument, element_spans
from turnetl.formats.kit.limits import has_too_many_values
from turnetl.formats.kit.row_decoder import RowDecoder
from turnetl.formats.opencode.assemble import CollectedMessages
from turnetl.formats.opencode.messages import build_message
from turnetl.formats.opencode.rows import (
    INFOS,
    PARTS,
    SESSIONS,
    MessageInfo,
    OpenCodePart,
    OpenCodeSession,
)

_StoredFile = MessageInfo | OpenCodePart | OpenCodeSession


class FileKind(msgspec.Struct, gc=False, rename={"message_id": "messageID"}):
    """The fields that distinguish the kinds of files."""

    role: str | None = None
    type: str | None = None
    message_id: str | None = None


_KINDS = RowDecoder(
    FileKind,
    Envelope(own=(frozenset({"id", "sessionID"}), frozenset({"id", "time", "title"}))),
)


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
        collected.add_part(file, span)
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
) -> RowDecoder[MessageInfo] | RowDecoder[OpenCodePart] | RowDecoder[OpenCodeSession]:
    if kind.role is not None:
        return INFOS
    return PARTS if kind.message_id is not None or kind.type is not None else SESSIONS
