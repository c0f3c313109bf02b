"""Between turnetl's values and Graphiti's: entities and nodes, facts and edges."""

from collections.abc import Mapping
from typing import Any

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode, EpisodeType, EpisodicNode

from turnetl.model import Attribute, Entity, Episode, Fact, GroupId, TurnId

BASE_LABEL = "Entity"
"""Graphiti puts it on every entity; turnetl's values leave it out."""

SOURCE = "a turn of a session with a coding agent"


def node(entity: Entity) -> EntityNode:
    """Return a new node without its vector, as Graphiti's own searches return it."""
    return EntityNode(
        uuid=entity.uuid,
        group_id=entity.group_id,
        name=entity.name,
        labels=[BASE_LABEL, *entity.labels],
        summary=entity.summary,
        created_at=entity.created_at,
        attributes=dict(entity.attributes),
    )


def entity(of: EntityNode) -> Entity:
    """Return the node as a value, without its vector."""
    return Entity(
        uuid=of.uuid,
        group_id=GroupId(of.group_id),
        name=of.name,
        labels=tuple(sorted({label for label in of.labels if label != BASE_LABEL})),
        summary=of.summary,
        created_at=of.created_at,
        attributes=_plain(of.attributes),
    )


def edge(fact: Fact) -> EntityEdge:
    """Return a new edge without its vector, as Graphiti's own searches return it."""
    return EntityEdge(
        uuid=fact.uuid,
        group_id=fact.group_id,
        source_node_uuid=fact.source,
        target_node_uuid=fact.target,
        name=fact.name,
        fact=fact.text,
        episodes=list(fact.turns),
        created_at=fact.created_at,
        valid_at=fact.valid_at,
        invalid_at=fact.invalid_at,
        expired_at=fact.expired_at,
        reference_time=fact.reference_time,
        attributes=dict(fact.attributes),
    )


def fact(of: EntityEdge) -> Fact:
    """Return the edge as a value, without its vector. Each turn is named once."""
    return Fact(
        uuid=of.uuid,
        group_id=GroupId(of.group_id),
        source=of.source_node_uuid,
        target=of.target_node_uuid,
        name=of.name,
        text=of.fact,
        turns=tuple(TurnId(turn) for turn in dict.fromkeys(of.episodes)),
        created_at=of.created_at,
        valid_at=of.valid_at,
        invalid_at=of.invalid_at,
        expired_at=of.expired_at,
        reference_time=of.reference_time,
        attributes=_plain(of.attributes),
    )


def episodic(episode: Episode, text: str) -> EpisodicNode:
    """Return the episode, or the part of it that is `text`, as Graphiti's prompts want it.

    Raises:
        ValueError: its turn has no time.
    """
    turn = episode.turn
    if turn.started_at is None:
        raise ValueError(f"turn {turn.turn_id} has no time")
    return EpisodicNode(
        uuid=turn.turn_id,
        name=f"{turn.session_id} {turn.ordinal}",
        group_id=turn.group_id,
        source=EpisodeType.message,
        source_description=SOURCE,
        content=text,
        created_at=turn.started_at,
        valid_at=turn.started_at,
    )


def _plain(attributes: Mapping[str, Any]) -> dict[str, Attribute]:
    """Keep what a graph can hold as a property."""
    return {
        name: value
        for name, value in sorted(attributes.items())
        if isinstance(value, (str, int, float, bool))
    }
