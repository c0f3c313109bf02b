"""The format of OpenCode: the output of `opencode export`, and concatenated files of its store.

Both describe a session completely, and give the same turns.
"""

import re

from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.base import ParsedArchive, Probe
from turnetl.formats.kit.concatenated_json import split_objects
from turnetl.formats.kit.documents import (
    JsonDocument,
    count_elements,
    element_spans,
    object_fields,
    parse_document,
)
from turnetl.formats.kit.limits import limited
from turnetl.formats.kit.lines import overwrite_message
from turnetl.formats.kit.row_decoder import unread_reason
from turnetl.formats.kit.shallow_json import DECODE_ERRORS
from turnetl.formats.opencode.assemble import CollectedMessages
from turnetl.formats.opencode.detect import is_export, is_message, is_part, is_session
from turnetl.formats.opencode.messages import build_message
from turnetl.formats.opencode.rows import (
    ELEMENTS,
    SESSIONS,
    ExportElement,
    MessageInfo,
    OpenCodePart,
    OpenCodeSession,
)
from turnetl.formats.opencode.store import read_files
from turnetl.formats.opencode.v2 import V2_MESSAGES, V2Message, to_v1

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
