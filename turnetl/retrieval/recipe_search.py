"""Search with one of Graphiti's recipes: from loaded groups to results, each with its lineage.

It works on loaded groups, so every graph store returns the same results. It writes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches
from itertools import chain
from math import inf
from typing import Annotated

from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import Community, EpisodeNode, Receipt
from turnetl.base.model import Entity, Fact, TurnId, Usage
from turnetl.base.result_fields import GroupField
from turnetl.base.results import INLINED, described
from turnetl.base.text import listed
from turnetl.graph import search as graphiti_recipes
from turnetl.graph.from_rows import chunk_ids
from turnetl.graph.search import SearchedGraph, SearchedGroup
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import Embedder
from turnetl.llm.graphiti import GraphitiReranker, NoReranker
from turnetl.retrieval.recipes import Recipe, RecipeOptions

_MAX_CANDIDATES = 8
"""Candidates that a message names."""
_SHORT_UUID = 8
"""Characters."""


def find_entity(entities: Iterable[Entity], reference: str) -> Entity:
    """Return the entity with this uuid, this name, or a uuid that begins so; in this order."""
    known = list(entities)
    for matching in (
        [entity for entity in known if entity.uuid == reference],
        [entity for entity in known if entity.name == reference],
        [entity for entity in known if reference and entity.uuid.startswith(reference.lower())],
    ):
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise _ambiguous(reference, matching)
    raise _unknown(reference, known)


def _ambiguous(reference: str, candidates: Sequence[Entity]) -> BadUsage:
    in_groups = len({entity.group_id for entity in candidates}) > 1
    group = ", or its group with `--group`" if in_groups else ""
    return BadUsage(
        f"`{reference}` is {len(candidates):,} entities: {_listed(candidates)}; "
        f"name one by its uuid or the beginning of it{group}"
    )


def _unknown(reference: str, entities: Sequence[Entity]) -> BadUsage:
    by_name = {entity.name.lower(): entity for entity in reversed(entities)}
    close = get_close_matches(reference.lower(), by_name, n=_MAX_CANDIDATES)
    if close:
        hint = f"similar are {_listed([by_name[name] for name in close])}"
    else:
        hint = "a search with a NODE recipe lists entities with their uuids"
    return BadUsage(f"no entity of the searched groups is named `{reference}`; {hint}")


def _listed(candidates: Sequence[Entity]) -> str:
    """Return name, labels, group and the beginning of the uuid of the first candidates."""
    shortest = _distinct_length(candidates)
    named = [
        f"`{entity.name}` ({', '.join((*entity.labels, entity.group_id))}, "
        f"{entity.uuid[:shortest]})"
        for entity in candidates
    ]
    return listed(named, _MAX_CANDIDATES)


def _distinct_length(candidates: Sequence[Entity]) -> int:
    """Return how many characters of the uuids tell the candidates apart."""
    longest = max(len(entity.uuid) for entity in candidates)
    lengths = range(_SHORT_UUID, longest)
    is_distinct = (
        len({entity.uuid[:length] for entity in candidates}) == len(candidates)
        for length in lengths
    )
    return next((n for n, distinct in zip(lengths, is_distinct, strict=True) if distinct), longest)


class Lineage:
    """The turns of facts, entities and episodes: their receipts name archive and lines."""

    def __init__(self, groups: Iterable[SearchedGroup]) -> None:
        groups = tuple(groups)
        self._receipts = {
            receipt.turn_id: receipt for group in groups for receipt in group.contents.receipts
        }
        self._by_episode = turns_by_episode(self._receipts.values())
        self._by_entity: dict[str, list[str]] = {}
        for mention in chain.from_iterable(group.subgraphs.mentions for group in groups):
            self._by_entity.setdefault(mention.entity, []).append(mention.episode)

    def of_turns(self, turns: Iterable[TurnId]) -> tuple[Receipt, ...]:
        """Return the receipts of these turns, oldest first; a turn without one is omitted."""
        known = [self._receipts[turn] for turn in set(turns) if turn in self._receipts]
        return tuple(sorted(known, key=lambda receipt: (receipt.started_at, receipt.turn_id)))

    def of_entity(self, uuid: str) -> tuple[Receipt, ...]:
        episodes = self._by_entity.get(uuid, ())
        return self.of_turns(
            self._by_episode[episode] for episode in episodes if episode in self._by_episode
        )

    def of_episode(self, uuid: str) -> Receipt | None:
        turn = self._by_episode.get(uuid)
        return self._receipts[turn] if turn is not None else None


def turns_by_episode(receipts: Iterable[Receipt]) -> dict[str, TurnId]:
    """Return the turn of each episode, by the episode's uuid: long turns have several."""
    return {uuid: receipt.turn_id for receipt in receipts for uuid in chunk_ids(receipt)}


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

    What turns that started within the times state or mention is searched. The embedder embeds the
    query, and what has no comparable vector in the graph. Without a limit, the recipe has its own,
    mostly 10.
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
    """Return the results of each kind by their last turns, newest first; those without a turn last.

    Communities belong to no turn and stay in their order.
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
    """Return what turns of that time state or mention; communities belong to no turn and stay."""
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
