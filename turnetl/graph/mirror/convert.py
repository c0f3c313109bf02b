"""Between turnetl's values and Graphiti's: entities and nodes, facts and edges."""

from datetime import timedelta

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode, EpisodeType, EpisodicNode

from turnetl.graph import names
from turnetl.model import Entity, Episode, Fact, GroupId, TurnId


def node(entity: Entity) -> EntityNode:
    """Return a new node without its vector, as Graphiti's own searches return it."""
    return EntityNode(
        uuid=entity.uuid,
        group_id=entity.group_id,
        name=entity.name,
        labels=[names.BASE_LABEL, *entity.labels],
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
        labels=names.own_labels(of.labels),
        summary=of.summary,
        created_at=of.created_at,
        attributes=names.plain(of.attributes),
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
        attributes=names.plain(of.attributes),
    )


def episodic(episode: Episode, text: str, part: int = 0) -> EpisodicNode:
    """Return a part of the episode, or `text` in its place, as Graphiti's prompts want it.

    Its key is the turn's, whichever part it is: so facts name the turn.

    Raises:
        ValueError: its turn has no time.
    """
    turn = episode.turn
    if turn.started_at is None:
        raise ValueError(f"turn {turn.turn_id} has no time")
    return EpisodicNode(
        uuid=turn.turn_id,
        name=names.episode_name(turn, part, len(episode.parts)),
        group_id=turn.group_id,
        source=EpisodeType.message,
        source_description=names.SOURCE_DESCRIPTION,
        content=text,
        created_at=turn.started_at,
        valid_at=turn.started_at + timedelta(microseconds=part),
    )
