"""Turns, entities and facts as objects of JSON, without embeddings."""

from dataclasses import asdict
from typing import Any

from turnetl.base.model import Entity, Fact
from turnetl.transfer.content import ExportedTurn


def turn_row(exported: ExportedTurn) -> dict[str, Any]:
    """Return a turn with the names of `schema.TURNS`, `noise` and `copies`."""
    return {
        "kind": "turn",
        **asdict(exported.turn),
        "noise": exported.noise,
        "copies": exported.copies,
    }


def entity_row(entity: Entity) -> dict[str, Any]:
    return _without_embedding("entity", entity)


def fact_row(fact: Fact) -> dict[str, Any]:
    """Return a fact; `source` and `target` are uuids of entities."""
    return _without_embedding("fact", fact)


def _without_embedding(kind: str, item: Entity | Fact) -> dict[str, Any]:
    values = {"kind": kind, **asdict(item)}
    del values["embedding"]
    return values
