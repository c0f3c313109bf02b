"""The files of OpenCode's store one after another: a session, its messages, their parts."""

import msgspec

from turnetl.formats.base import Place
from turnetl.formats.kit.documents import Document, places
from turnetl.formats.kit.rows import Rows
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


_SIGNS = Rows(Sign)


def read_files(data: bytes, parts: Document, into: Collected) -> None:
    """Collect what the files hold. A broken one is counted, and the rest goes on."""
    for place, raw in places(data, parts):
        into.places.append(place)
        found, values = _files(raw)
        if values != 1:
            into.counts.bad_lines += 1
            into.counts.glued_lines += values > 1
        if values < 1 and into.counts.first_broken_line is None:
            into.counts.first_broken_line = place.line
        if not found:
            into.verdicts[place.start] = SkipReason.INVALID_JSON
        for file in found:
            _add(file, place, into)


def _add(file: _File, place: Place, into: Collected) -> None:
    if isinstance(file, Session):
        into.add_session(file, place)
    elif isinstance(file, Part):
        into.add_part(file, place)
    else:
        into.add_message(message(place, file))


def _files(raw: bytes) -> tuple[list[_File], int]:
    """Return the files in a piece, and how many values stand there: see `Rows.mend`."""
    sign = _SIGNS.read(raw)
    row = _kind(sign).read(raw) if sign is not None else None
    if row is not None:
        return [row], 1
    signs, values = _SIGNS.mend(raw)
    mended = {kind: kind.mend(raw)[0] for kind in {_kind(sign) for sign in signs}}
    return [mended[_kind(sign)][number] for number, sign in enumerate(signs)], values


def _kind(sign: Sign) -> Rows[Info] | Rows[Part] | Rows[Session]:
    if sign.role is not None:
        return INFOS
    return PARTS if sign.message_id is not None or sign.type is not None else SESSIONS
