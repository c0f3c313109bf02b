"""The files of OpenCode's store one after another: a session, its messages, their parts."""

import msgspec

from turnetl.formats.base import SourceSpan
from turnetl.formats.kit.documents import JsonDocument, element_spans
from turnetl.formats.kit.row_decoder import RowDecoder
from turnetl.formats.opencode.assemble import Collected
from turnetl.formats.opencode.messages import message
from turnetl.formats.opencode.rows import INFOS, PARTS, SESSIONS, Info, Part, Session
from turnetl.skip_reasons import SkipReason

_File = Info | Part | Session


class Sign(msgspec.Struct, gc=False, rename={"message_id": "messageID"}):
    """What tells the kinds of files apart."""

    role: str | None = None
    type: str | None = None
    message_id: str | None = None


_SIGNS = RowDecoder(Sign)


def read_files(data: bytes, parts: JsonDocument, into: Collected) -> None:
    """Collect what the files hold. A broken one is counted, and the rest goes on."""
    for place, raw in element_spans(data, parts):
        into.places.append(place)
        found, values = _files(raw)
        if values != 1:
            into.counts.invalid_lines += 1
            into.counts.concatenated_lines += values > 1
        if values < 1 and into.counts.first_invalid_line is None:
            into.counts.first_invalid_line = place.line
        if not found:
            into.verdicts[place.start] = SkipReason.INVALID_JSON
        for file in found:
            _add(file, place, into)


def _add(file: _File, place: SourceSpan, into: Collected) -> None:
    if isinstance(file, Session):
        into.add_session(file, place)
    elif isinstance(file, Part):
        into.add_part(file, place)
    else:
        into.add_message(message(place, file))


def _files(raw: bytes) -> tuple[list[_File], int]:
    """Return the files in a piece, and how many values stand there: see `Rows.mend`."""
    sign = _SIGNS.decode(raw)
    row = _kind(sign).decode(raw) if sign is not None else None
    if row is not None:
        return [row], 1
    signs, values = _SIGNS.decode_damaged(raw)
    mended = {kind: kind.decode_damaged(raw)[0] for kind in {_kind(sign) for sign in signs}}
    return [mended[_kind(sign)][number] for number, sign in enumerate(signs)], values


def _kind(sign: Sign) -> RowDecoder[Info] | RowDecoder[Part] | RowDecoder[Session]:
    if sign.role is not None:
        return INFOS
    return PARTS if sign.message_id is not None or sign.type is not None else SESSIONS
