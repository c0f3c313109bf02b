"""JSON Lines: one object per turn, entity and fact, after a line about the export."""

from collections.abc import Iterator

import msgspec

from turnetl.transfer.content import ExportContent
from turnetl.transfer.rows import entity_row, fact_row, turn_row

MARK = b'{"kind":"export","turnetl_export":1,'


def to_jsonl(content: ExportContent) -> bytes:
    """Return the content; times are ISO 8601 in UTC."""
    return b"".join(_lines(content))


def _lines(content: ExportContent) -> Iterator[bytes]:
    counts = f'"turns":{len(content.turns)},"entities":{len(content.entities)},'
    yield MARK + f'{counts}"facts":{len(content.facts)}}}\n'.encode()
    encode = msgspec.json.Encoder().encode
    for exported in content.turns:
        yield encode(turn_row(exported)) + b"\n"
    for entity in content.entities:
        yield encode(entity_row(entity)) + b"\n"
    for fact in content.facts:
        yield encode(fact_row(fact)) + b"\n"
