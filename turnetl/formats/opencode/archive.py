"""OpenCode: what `opencode export` writes, and the files of its store one after another.

Both say the same of a session, and give the same turns.
"""

import re

from turnetl.formats.base import ParsedArchive, Probe
from turnetl.formats.kit.concatenated_json import split_objects
from turnetl.formats.kit.documents import (
    JsonDocument,
    count_elements,
    element_spans,
    parse_document,
)
from turnetl.formats.kit.lines import blank_bom, blank_prefix
from turnetl.formats.kit.shallow_json import DECODE_ERRORS, shallow_object
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

    def sniff(self, probe: Probe) -> bool:
        """Know an export by its session, the store by any of its files."""
        probe = probe.after_prefix(_GREETING)
        if is_export(probe.first):
            return True
        return any(is_session(row) or is_message(row) or is_part(row) for row in probe.rows)

    def read(self, data: bytes) -> ParsedArchive:
        data = blank_prefix(blank_bom(data), _GREETING)
        collected = Collected()
        if _is_export(data):
            parts = parse_document(data, _MESSAGES)
            _read_export(data, parts, collected)
            return _counted(data, parts, collected, between=SkipReason.ENVELOPE)
        parts = JsonDocument({}, list(split_objects(data)))
        read_files(data, parts, collected)
        reading = _counted(data, parts, collected, between=SkipReason.BLANK)
        reading.counts.blank_lines = reading.counts.skipped[SkipReason.BLANK]
        return reading


def _counted(
    data: bytes, parts: JsonDocument, collected: Collected, *, between: SkipReason
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
        return "info" in shallow_object(data)
    except DECODE_ERRORS:
        return False


def _read_export(data: bytes, parts: JsonDocument, into: Collected) -> None:
    into.own = SESSIONS.decode_first(parts.fields.get("info", b"")) or Session()
    for place, raw in element_spans(data, parts):
        into.places.append(place)
        element = ELEMENTS.decode_first(raw)
        if element is None:
            into.verdicts[place.start] = SkipReason.NOT_AN_OBJECT
        else:
            into.add_message(message(place, *_said(element, raw)))


def _said(element: Element, raw: bytes) -> tuple[Info, list[Part]]:
    if element.info is not None:
        return element.info, element.parts or []
    return as_first(SECONDS.decode_first(raw) or Second())
