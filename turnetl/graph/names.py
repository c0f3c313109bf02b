"""What turnetl's turns are called in Graphiti's words, and which names are Graphiti's own."""

from collections.abc import Iterable, Mapping
from typing import Any

from turnetl.model import Attribute, Turn

BASE_LABEL = "Entity"
"""Graphiti puts it on every entity; turnetl's values leave it out."""
SOURCE = "message"
SOURCE_DESCRIPTION = "a turn of a session with a coding agent"

# Graphiti flattens attributes into the properties of a Neo4j node; these names are its own.
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


def episode_name(turn: Turn, part: int = 0, parts: int = 1) -> str:
    """Return what a turn is called, or one of its parts, which are counted from 0."""
    name = f"{turn.session_id} {turn.ordinal}"
    return name if parts == 1 else f"{name} ({part + 1} of {parts})"


def own_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the labels as a value has them: sorted, each once, without Graphiti's own."""
    return tuple(sorted({label for label in labels if label != BASE_LABEL}))


def plain(
    attributes: Mapping[str, Any], reserved: frozenset[str] = frozenset()
) -> dict[str, Attribute]:
    """Return, by name, what a graph can hold as a property and is not `reserved`."""
    return {
        name: value
        for name, value in sorted(attributes.items())
        if name not in reserved and isinstance(value, (str, int, float, bool))
    }
