"""OpenCode: what `opencode export` writes, and the files of its store one after another.

Both say the same of a session, and give the same turns.
"""

import re

from turnetl.formats.base import ParsedArchive, Probe
from turnetl.formats.kit.documents import Document, count_elements, document, places
from turnetl.formats.kit.json_sequence import pieces
from turnetl.formats.kit.lines import without_mark, without_words
from turnetl.formats.kit.shallow_json import UNREADABLE, object_of
from turnetl.formats.opencode.assemble import Collected
from turnetl.formats.opencode.detect import is_export, is_message, is_part, is_session
from turnetl.formats.opencode.messages import message
from turnetl.formats.opencode.rows import ELEMENTS, SESSIONS, Element, Info, Part, Session
from turnetl.formats.opencode.store import read_files
from turnetl.formats.opencode.v2 import SECONDS, Second, as_first
from turnetl.skip_reasons import SkipReason

_GREETING = b"Exporting session: "
"""Goes to the terminal before the export; some shells write it into the file."""
_MESSAGES = "messages"
_BEGINS = re.compile(rb'\s*\{\s*"(?:info|messages)"\s*:')


class OpenCode:
    name = "opencode"
    title = "OpenCode sessions: exported, or its store (JSON)"
    version = 2

    def sniff(self, opening: Probe) -> bool:
        """Know an export by its session, the store by any of its files."""
        opening = opening.behind(_GREETING)
        if is_export(opening.first):
            return True
        return any(is_session(row) or is_message(row) or is_part(row) for row in opening.rows)

    def read(self, data: bytes) -> ParsedArchive:
        data = without_words(without_mark(data), _GREETING)
        collected = Collected()
        if _is_export(data):
            parts = document(data, _MESSAGES)
            _read_export(data, parts, collected)
            return _counted(data, parts, collected, between=SkipReason.ENVELOPE)
        parts = Document({}, list(pieces(data)))
        read_files(data, parts, collected)
        reading = _counted(data, parts, collected, between=SkipReason.BLANK)
        reading.counts.blank_lines = reading.counts.skipped[SkipReason.BLANK]
        return reading


def _counted(
    data: bytes, parts: Document, collected: Collected, *, between: SkipReason
) -> ParsedArchive:
    reading = collected.reading()
    became = collected.verdicts
    verdicts = ((place, became.get(place.start, SkipReason.OTHER)) for place in collected.places)
    count_elements(data, parts, verdicts, reading.counts, between=between)
    return reading


def _is_export(data: bytes) -> bool:
    """Say whether it is one; a torn one is told by how it begins."""
    if _BEGINS.match(data) is not None:
        return True
    try:
        return "info" in object_of(data)
    except UNREADABLE:
        return False


def _read_export(data: bytes, parts: Document, into: Collected) -> None:
    into.own = SESSIONS.one(parts.fields.get("info", b"")) or Session()
    for place, raw in places(data, parts):
        into.places.append(place)
        element = ELEMENTS.one(raw)
        if element is None:
            into.verdicts[place.start] = SkipReason.NOT_AN_OBJECT
        else:
            into.add_message(message(place, *_said(element, raw)))


def _said(element: Element, raw: bytes) -> tuple[Info, list[Part]]:
    if element.info is not None:
        return element.info, element.parts or []
    return as_first(SECONDS.one(raw) or Second())
