"""Relations that are no part of a group, and that a migration must not break."""

from dataclasses import dataclass

OWN_TYPES = ("RELATES_TO", "MENTIONS", "HAS_MEMBER", "HAS_EPISODE", "NEXT_EPISODE")
"""The types that Graphiti makes."""


@dataclass(frozen=True, slots=True)
class OtherRelation:
    """A relation that uses a node: of another type than Graphiti's, or from another group.

    Of Graphiti's types only those count that end at the node, and all facts.
    """

    node: str
    """Uuid of an entity, episode, saga or community."""
    other: str | None
    """Uuid of the node at the other end; None if that is no such node of these groups."""
