"""`turnetl search --recipe … --json`."""

from typing import Annotated

from turnetl.base.graph_model import Receipt
from turnetl.base.model import Entity
from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.json_output import fields
from turnetl.json_output.base import timestamp
from turnetl.json_output.usage import UsageOutput, usage_output
from turnetl.retrieval.recipe_search import (
    CommunityResult,
    EntityResult,
    EpisodeResult,
    FactResult,
    RecipeResults,
)

_DIGITS = 6
_SCORE = "The score that orders the results; what it measures depends on the recipe."


class SourceTurnOutput(JsonOutput):
    """A turn that a result comes from, with its archive and lines."""

    turn_id: fields.TurnIdField
    session_id: fields.SessionIdField
    started_at: Annotated[Timestamp, described("Time of the turn.")]
    archive: fields.ArchiveField
    first_line: fields.FirstLineField
    last_line: fields.LastLineField


class CenterOutput(JsonOutput):
    """The center entity of a search."""

    uuid: Annotated[str, described("Uuid of the entity.")]
    name: Annotated[str, described("Name of the entity.")]
    group: fields.GroupField


class FactResultOutput(JsonOutput):
    """A fact: an edge in Graphiti's terms."""

    uuid: Annotated[str, described("Uuid of the fact.")]
    fact: Annotated[str, described("The fact as a sentence.")]
    score: Annotated[float, described(_SCORE)]
    relation: Annotated[str, described("The relation of the fact.")]
    source: Annotated[str, described("Name of the entity that the fact is about.")]
    source_uuid: Annotated[str, described("Uuid of that entity.")]
    target: Annotated[str, described("Name of the other entity.")]
    target_uuid: Annotated[str, described("Uuid of the other entity.")]
    group: fields.GroupField
    valid_at: fields.ValidAtField
    invalid_at: fields.InvalidAtField
    turns: Annotated[
        list[SourceTurnOutput], described("The turns that state the fact, oldest first.")
    ]


class EntityResultOutput(JsonOutput):
    """An entity: a node in Graphiti's terms."""

    uuid: Annotated[str, described("Uuid of the entity.")]
    name: Annotated[str, described("Name of the entity.")]
    score: Annotated[float, described(_SCORE)]
    labels: Annotated[list[str], described("Labels of the entity, sorted.")]
    summary: Annotated[str, described("Summary of the entity; may be empty.")]
    group: fields.GroupField
    turns: Annotated[
        list[SourceTurnOutput], described("The turns that mention the entity, oldest first.")
    ]


class EpisodeResultOutput(JsonOutput):
    """An episode: a turn, or a chunk of a long one."""

    uuid: Annotated[str, described("Uuid of the episode.")]
    name: Annotated[str, described("Name of the episode.")]
    score: Annotated[float, described(_SCORE)]
    text: Annotated[str, described("The text of the episode.")]
    group: fields.GroupField
    turn: Annotated[
        SourceTurnOutput | None,
        described("The turn; null if another program wrote the episode."),
    ]


class CommunityResultOutput(JsonOutput):
    """A community of entities, which a build of communities made."""

    uuid: Annotated[str, described("Uuid of the community.")]
    name: Annotated[str, described("Name of the community.")]
    score: Annotated[float, described(_SCORE)]
    summary: Annotated[str, described("Summary of the community.")]
    group: fields.GroupField


class RecipeSearchOutput(JsonOutput):
    """The results of a search with one of Graphiti's recipes, by kind, each best first."""

    recipe: Annotated[str, described("Graphiti's name of the recipe.")]
    center: Annotated[CenterOutput | None, described("The center entity; null without one.")]
    facts: Annotated[list[FactResultOutput], described("Facts: Graphiti's edges.")]
    entities: Annotated[list[EntityResultOutput], described("Entities: Graphiti's nodes.")]
    episodes: Annotated[list[EpisodeResultOutput], described("Episodes.")]
    communities: Annotated[list[CommunityResultOutput], described("Communities.")]
    usage: Annotated[
        UsageOutput,
        described(
            "Usage of the cross-encoder's model, without responses from the journal; zero for "
            "other recipes."
        ),
    ]


def recipe_search_output(results: RecipeResults) -> RecipeSearchOutput:
    return RecipeSearchOutput(
        recipe=results.recipe,
        center=None if results.center is None else _center(results.center),
        facts=[_fact(result) for result in results.facts],
        entities=[_entity(result) for result in results.entities],
        episodes=[_episode(result) for result in results.episodes],
        communities=[_community(result) for result in results.communities],
        usage=usage_output(results.usage),
    )


def _center(entity: Entity) -> CenterOutput:
    return CenterOutput(uuid=entity.uuid, name=entity.name, group=entity.group_id)


def _fact(result: FactResult) -> FactResultOutput:
    fact = result.fact
    return FactResultOutput(
        uuid=fact.uuid,
        fact=fact.text,
        score=round(result.score, _DIGITS),
        relation=fact.relation,
        source=result.source,
        source_uuid=fact.source,
        target=result.target,
        target_uuid=fact.target,
        group=fact.group_id,
        valid_at=timestamp(fact.valid_at),
        invalid_at=timestamp(fact.invalid_at),
        turns=[_turn(receipt) for receipt in result.turns],
    )


def _entity(result: EntityResult) -> EntityResultOutput:
    entity = result.entity
    return EntityResultOutput(
        uuid=entity.uuid,
        name=entity.name,
        score=round(result.score, _DIGITS),
        labels=list(entity.labels),
        summary=entity.summary,
        group=entity.group_id,
        turns=[_turn(receipt) for receipt in result.turns],
    )


def _episode(result: EpisodeResult) -> EpisodeResultOutput:
    episode = result.episode
    return EpisodeResultOutput(
        uuid=episode.uuid,
        name=episode.name,
        score=round(result.score, _DIGITS),
        text=episode.text,
        group=episode.group_id,
        turn=None if result.turn is None else _turn(result.turn),
    )


def _community(result: CommunityResult) -> CommunityResultOutput:
    community = result.community
    return CommunityResultOutput(
        uuid=community.uuid,
        name=community.name,
        score=round(result.score, _DIGITS),
        summary=community.summary,
        group=community.group_id,
    )


def _turn(receipt: Receipt) -> SourceTurnOutput:
    return SourceTurnOutput(
        turn_id=receipt.turn_id,
        session_id=receipt.session_id,
        started_at=timestamp(receipt.started_at),
        archive=receipt.archive,
        first_line=receipt.first_line,
        last_line=receipt.last_line,
    )
