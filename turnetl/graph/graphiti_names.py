"""Names that turnetl shares with Graphiti: episode names, labels, and reserved properties."""

from collections.abc import Iterable, Mapping
from typing import Any

from turnetl.base.model import Attribute, Turn

BASE_LABEL = "Entity"
"""Graphiti sets it on every entity; turnetl's values omit it."""
SOURCE = "message"
SOURCE_DESCRIPTION = "a turn of a session with a coding agent"

# Graphiti stores attributes as further properties of a Neo4j node; these names are its own.
ENTITY_PROPERTIES = frozenset(
    ("uuid", "name", "group_id", "summary", "created_at", "name_embedding", "labels")
)
FACT_PROPERTIES = frozenset(
    (
        *("uuid", "source_node_uuid", "target_node_uuid", "name", "fact", "group_id", "episodes"),
        *("created_at", "expired_at", "valid_at", "invalid_at", "reference_time"),
        "fact_embedding",
    )
)


def episode_name(turn: Turn, chunk: int = 0, chunks: int = 1) -> str:
    """Return the name of a turn's episode, or of one of its chunks, which count from 0."""
    name = f"{turn.session_id} {turn.ordinal}"
    return name if chunks == 1 else f"{name} ({chunk + 1} of {chunks})"


def without_base_label(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the labels of an entity's value: sorted, unique, without Graphiti's own."""
    return tuple(sorted({label for label in labels if label != BASE_LABEL}))


def plain_attributes(
    attributes: Mapping[str, Any], reserved: frozenset[str] = frozenset()
) -> dict[str, Attribute]:
    """Return, by name, the attributes that a graph can store as properties and are not reserved."""
    return {
        name: value
        for name, value in sorted(attributes.items())
        if name not in reserved and isinstance(value, (str, int, float, bool))
    }
