"""JSON Lines: after a line about the export one object per turn, entity and fact."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import msgspec

from turnetl.base.model import Entity, Fact
from turnetl.transfer.content import ExportContent, ExportedTurn

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
        yield encode(_without_embedding("entity", entity)) + b"\n"
    for fact in content.facts:
        yield encode(_without_embedding("fact", fact)) + b"\n"


def turn_row(exported: ExportedTurn) -> dict[str, Any]:
    """Return a turn with the names of `schema.TURNS`, `noise` and `copies`."""
    return {
        "kind": "turn",
        **asdict(exported.turn),
        "noise": exported.noise,
        "copies": exported.copies,
    }


def _without_embedding(kind: str, item: Entity | Fact) -> dict[str, Any]:
    values = {"kind": kind, **asdict(item)}
    del values["embedding"]
    return values
