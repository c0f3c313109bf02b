"""Entities and facts of other programs from rows: nothing is expected but their uuids."""

from collections.abc import Mapping
from typing import Any

from turnetl.base.model import Entity, Fact, GroupId, Vector
from turnetl.graph import from_rows
from turnetl.graph.session_level import UNKNOWN_TIME


def entity_of(group: GroupId, row: Mapping[str, Any], vector: Vector | None) -> Entity:
    """Return the entity in a row of properties, any of which may be missing but the uuid."""
    return from_rows.entity_from_row(_complete(group, row), {}, vector)


def fact_of(group: GroupId, row: Mapping[str, Any], vector: Vector | None) -> Fact:
    """Return the fact in a row of properties, any of which may be missing but the uuids."""
    return from_rows.fact_from_row({"fact": "", **_complete(group, row)}, {}, vector)


def _complete(group: GroupId, row: Mapping[str, Any]) -> dict[str, Any]:
    present = {name: value for name, value in row.items() if value is not None}
    return {
        "group_id": group,
        "name": "",
        "labels": (),
        "created_at": UNKNOWN_TIME,
        "episodes": (),
        **present,
    }
