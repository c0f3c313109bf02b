"""Search with one of Graphiti's recipes: from loaded groups to results, each with its lineage.

It works on loaded groups, so every graph store returns the same results. It writes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from typing import Annotated

from turnetl.base.graph_model import Community, EpisodeNode, Receipt
from turnetl.base.model import Entity, Fact, Usage
from turnetl.base.result_fields import GroupField
from turnetl.base.results import INLINED, described
from turnetl.graph.search import recipes as graphiti_recipes
from turnetl.graph.search.searched_graph import SearchedGraph, SearchedGroup
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.graphiti import NoReranker
from turnetl.llm.reranker import GraphitiReranker
from turnetl.retrieval.center import find_entity
from turnetl.retrieval.lineage import Lineage, turns_by_episode
from turnetl.retrieval.recipes import Recipe, RecipeOptions

_ScoreField = Annotated[
    float,
    described(
        "The score that orders the results; what it measures depends on the recipe.", digits=6
    ),
]


@dataclass(frozen=True, slots=True)
class FactResult:
    """A fact: an edge in Graphiti's terms."""

    fact: Annotated[Fact, INLINED]
    score: _ScoreField
    source: Annotated[str, described("Name of the entity that the fact is about.")]
    target: Annotated[str, described("Name of the other entity.")]
    turns: Annotated[tuple[Receipt, ...], described("The turns that state the fact, oldest first.")]

    @property
    def uuid(self) -> Annotated[str, described("Uuid of the fact.")]:
        return self.fact.uuid

    @property
    def text(self) -> Annotated[str, described("The fact as a sentence.", name="fact")]:
        return self.fact.text

    @property
    def source_uuid(self) -> Annotated[str, described("Uuid of that entity.")]:
        return self.fact.source

    @property
    def target_uuid(self) -> Annotated[str, described("Uuid of the other entity.")]:
        return self.fact.target

    @property
    def group(self) -> GroupField:
        return self.fact.group_id


@dataclass(frozen=True, slots=True)
class FoundEntity:
    """An entity that a search starts from, or finds."""

    entity: Annotated[Entity, INLINED]

    @property
    def uuid(self) -> Annotated[str, described("Uuid of the entity.")]:
        return self.entity.uuid


@dataclass(frozen=True, slots=True)
class EntityResult(FoundEntity):
    """An entity: a node in Graphiti's terms."""

    score: _ScoreField
    turns: Annotated[
        tuple[Receipt, ...], described("The turns that mention the entity, oldest first.")
    ]


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """An episode: a turn, or a chunk of a long one."""

    episode: Annotated[EpisodeNode, INLINED]
    score: _ScoreField
    turn: Annotated[
        Receipt | None, described("The turn; null if another program wrote the episode.")
    ]


@dataclass(frozen=True, slots=True)
class CommunityResult:
    """A community of entities, which a build of communities made."""

    community: Annotated[Community, INLINED]
    score: _ScoreField


@dataclass(frozen=True, slots=True)
class RecipeResults:
    """The results of a search with one of Graphiti's recipes, by kind, each best first.

    Scores are comparable within one kind only.
    """

    recipe: Annotated[Recipe, described("Graphiti's name of the recipe.")]
    center: Annotated[FoundEntity | None, described("The center entity; null without one.")]
    facts: Annotated[tuple[FactResult, ...], described("Facts: Graphiti's edges.")] = ()
    entities: Annotated[tuple[EntityResult, ...], described("Entities: Graphiti's nodes.")] = ()
    episodes: Annotated[tuple[EpisodeResult, ...], described("Episodes.")] = ()
    communities: Annotated[tuple[CommunityResult, ...], described("Communities.")] = ()
    usage: Annotated[
        Usage,
        described(
            "Usage of the cross-encoder's model, without responses from the journal; zero for "
            "other recipes."
        ),
    ] = field(default_factory=Usage)


async def search_with_recipe(
    groups: Sequence[SearchedGroup],
    query: str,
    options: RecipeOptions,
    embedder: Embedder,
    *,
    model: ChatModel | None = None,
    limit: int | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> RecipeResults:
    """Return what Graphiti's `search` returns for the recipe; nothing for an empty query.

    Args:
        groups: the groups to search, all together.
        query: words or a question.
        options: the recipe, its center, and the depth of its breadth-first search.
        embedder: embeds the query, and what has no comparable vector in the graph.
        model: the cross-encoder of a recipe that has one.
        limit: maximum number of results of each kind; None: the recipe's own, mostly 10.
        since: only what turns that started at that time or later state or mention.
        until: only what turns that started before that time state or mention.

    Raises:
        BadUsage: the center is no entity of these groups, or several.
        TurnetlError: as the model.
    """
    selected = [_within(group, since, until) for group in groups]
    graph = SearchedGraph.of(selected, embedder)
    center = None if options.center is None else find_entity(graph.entities, options.center)
    found = await graphiti_recipes.run_recipe(
        graph,
        query,
        graphiti_recipes.search_config(options.recipe, limit=limit, bfs_depth=options.bfs_depth),
        embedder=embedder,
        reranker=GraphitiReranker(model) if model is not None else NoReranker(),
        center=center.uuid if center is not None else None,
    )
    return _results(found, graph, Lineage(selected), recipe=options.recipe, center=center)


def newest_first(results: RecipeResults) -> RecipeResults:
    """Return the results of each kind by their last turns, newest first.

    What comes from no turn is last. Communities belong to no turn and stay in their order.
    """
    return replace(
        results,
        facts=tuple(sorted(results.facts, key=lambda result: _age(result.turns[-1:]))),
        entities=tuple(sorted(results.entities, key=lambda result: _age(result.turns[-1:]))),
        episodes=tuple(
            sorted(results.episodes, key=lambda result: _age([result.turn] if result.turn else []))
        ),
    )


def _age(last: Sequence[Receipt]) -> float:
    """Return a sort key: newest turn first, results without a turn last."""
    return -last[0].started_at.timestamp() if last else inf


def _results(
    found: graphiti_recipes.ScoredResults,
    graph: SearchedGraph,
    lineage: Lineage,
    *,
    recipe: Recipe,
    center: Entity | None,
) -> RecipeResults:
    facts = {fact.uuid: fact for fact in graph.facts}
    entities = {entity.uuid: entity for entity in graph.entities}
    episodes = {episode.uuid: episode for episode in graph.episodes}
    communities = {community.uuid: community for community in graph.communities}
    return RecipeResults(
        recipe=recipe,
        center=None if center is None else FoundEntity(center),
        facts=tuple(
            _fact_result(facts[uuid], score, entities, lineage) for uuid, score in found.facts
        ),
        entities=tuple(
            EntityResult(entities[uuid], score, lineage.of_entity(uuid))
            for uuid, score in found.entities
        ),
        episodes=tuple(
            EpisodeResult(episodes[uuid], score, lineage.of_episode(uuid))
            for uuid, score in found.episodes
        ),
        communities=tuple(
            CommunityResult(communities[uuid], score) for uuid, score in found.communities
        ),
    )


def _fact_result(
    fact: Fact, score: float, entities: Mapping[str, Entity], lineage: Lineage
) -> FactResult:
    source, target = entities.get(fact.source), entities.get(fact.target)
    return FactResult(
        fact,
        score,
        source.name if source is not None else "",
        target.name if target is not None else "",
        lineage.of_turns(fact.turns),
    )


def _within(group: SearchedGroup, since: datetime | None, until: datetime | None) -> SearchedGroup:
    """Return the part of the group that the turns of that time state or mention.

    Communities belong to no turn and stay.
    """
    if since is None and until is None:
        return group
    contents, subgraphs = group.contents, group.subgraphs
    receipts = tuple(
        receipt
        for receipt in contents.receipts
        if (since is None or receipt.started_at >= since)
        and (until is None or receipt.started_at < until)
    )
    turns = {receipt.turn_id for receipt in receipts}
    episodes = turns_by_episode(receipts)
    facts = tuple(fact for fact in contents.facts if not turns.isdisjoint(fact.turns))
    mentions = tuple(mention for mention in subgraphs.mentions if mention.episode in episodes)
    named = {uuid for fact in facts for uuid in (fact.source, fact.target)}
    named |= {mention.entity for mention in mentions}
    return SearchedGroup(
        replace(
            contents,
            receipts=receipts,
            facts=facts,
            entities=tuple(entity for entity in contents.entities if entity.uuid in named),
        ),
        replace(
            subgraphs,
            mentions=mentions,
            episodes=tuple(node for node in subgraphs.episodes if node.uuid in episodes),
        ),
    )
