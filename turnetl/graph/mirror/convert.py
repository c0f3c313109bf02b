"""Between turnetl's values and Graphiti's: entities and nodes, facts and edges."""

from dataclasses import replace
from datetime import timedelta

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import CommunityNode, EntityNode, EpisodeType, EpisodicNode

from turnetl.base.graph_model import Community, EpisodeNode
from turnetl.base.model import Entity, Episode, Fact
from turnetl.graph import from_rows, graphiti_names, to_rows


def to_node(entity: Entity) -> EntityNode:
    """Return a new node without its vector, as Graphiti's own searches return it."""
    return EntityNode(**to_rows.entity_fields(entity), attributes=dict(entity.attributes))


def from_node(node: EntityNode) -> Entity:
    """Return the entity of a node, without its vector."""
    attributes = graphiti_names.plain_attributes(node.attributes)
    return replace(from_rows.entity_from_row(vars(node), {}, None), attributes=attributes)


def to_edge(fact: Fact) -> EntityEdge:
    """Return a new edge without its vector, as Graphiti's own searches return it."""
    return EntityEdge(**to_rows.fact_fields(fact), attributes=dict(fact.attributes))


def from_edge(edge: EntityEdge) -> Fact:
    """Return the fact of an edge, without its vector. Each turn appears once."""
    fact = from_rows.fact_from_row(vars(edge), {}, None)
    attributes = graphiti_names.plain_attributes(edge.attributes)
    return replace(fact, turns=tuple(dict.fromkeys(fact.turns)), attributes=attributes)


def to_episodic_node(episode: Episode, text: str, chunk: int = 0) -> EpisodicNode:
    """Return the node of an episode's chunk, with `text` as its content, for Graphiti's prompts.

    Its uuid is the turn's, whichever chunk it is, so that facts refer to the turn.
    """
    turn = episode.turn
    if turn.started_at is None:
        raise ValueError(f"turn {turn.turn_id} has no time")
    return EpisodicNode(
        uuid=turn.turn_id,
        name=graphiti_names.episode_name(turn, chunk, len(episode.chunks)),
        group_id=turn.group_id,
        source=EpisodeType.message,
        source_description=graphiti_names.SOURCE_DESCRIPTION,
        content=text,
        created_at=turn.started_at,
        valid_at=turn.started_at + timedelta(microseconds=chunk),
    )


def to_searched_episode(node: EpisodeNode) -> EpisodicNode:
    """Return an episode of the graph for Graphiti's search, which reads its uuid and content."""
    return EpisodicNode(
        uuid=node.uuid,
        name=node.name,
        group_id=node.group_id,
        source=EpisodeType.message,
        source_description=node.source_description,
        content=node.text,
        created_at=node.created_at,
        valid_at=node.valid_at,
    )


def to_community(community: Community) -> CommunityNode:
    """Return a new node without its vector, as Graphiti's own searches return it."""
    return CommunityNode(**to_rows.community_fields(community))
