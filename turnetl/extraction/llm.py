"""The extractor that asks a language model, through Graphiti's building blocks.

It takes the steps of Graphiti's `add_episode`, in its order, with three differences: what depends
on the turn alone runs ahead (`extract`), every read is answered from the group in memory
(`resolve`), and a fact that the model gives no date is dated from its turn, which saves a call.
Keys are digests of the turn and of what it names, so that a turn done again gives the same.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version
from weakref import WeakKeyDictionary

from graphiti_core.edges import EntityEdge
from graphiti_core.graphiti_types import GraphitiClients
from graphiti_core.nodes import EntityNode, EpisodicNode
from graphiti_core.tracer import NoOpTracer
from graphiti_core.utils.bulk_utils import resolve_edge_pointers
from graphiti_core.utils.maintenance.dedup_helpers import _normalize_string_exact
from graphiti_core.utils.maintenance.edge_operations import extract_edges, resolve_extracted_edges
from graphiti_core.utils.maintenance.node_operations import (
    extract_attributes_from_nodes,
    extract_nodes,
    resolve_extracted_nodes,
)

from turnetl import ids
from turnetl.extraction import outcome, shown
from turnetl.extraction.ontology import CODING, Ontology
from turnetl.extraction.port import Resolved
from turnetl.extraction.steering import Steer, Steering
from turnetl.graph.mirror import convert
from turnetl.graph.mirror.candidates import Candidates
from turnetl.graph.mirror.draft import Draft, DraftCandidates
from turnetl.graph.mirror.group import Group
from turnetl.graph.mirror.seams import MirrorDriver
from turnetl.llm.chat import Model
from turnetl.llm.graphiti import NoReranker, TurnEmbedder, TurnModel
from turnetl.llm.port import Embedder
from turnetl.model import Entity, Episode, Fact, GroupId, TurnId, Usage

_VERSION = "3"
"""Of what this module makes of answers."""

Gate = Callable[[EntityNode], Awaitable[bool]]
"""Whether an entity's summary is worth a call."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a part of a turn says. Nothing in it hangs on the group."""

    entities: tuple[Entity, ...]
    """As the model named them."""
    endpoints: tuple[Entity, ...]
    """Named by facts only."""
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a turn says."""

    context: tuple[Episode, ...]
    parts: tuple[Part, ...]
    usage: Usage


class LlmExtractor:
    """Asks a model for the entities and facts of a turn, and what they are in the group."""

    def __init__(
        self,
        model: Model,
        embedder: Embedder,
        *,
        steering: Steering,
        ontology: Ontology = CODING,
        gate: Gate | None = None,
    ) -> None:
        """Make an extractor for any number of groups.

        Args:
            model: asked, for all turns.
            embedder: the one whose vectors the groups hold.
            steering: which instructions stand in the prompts that extract, by group and kind.
            ontology: kinds of things and facts to look for.
            gate: asked before an entity is summarised; None summarises as Graphiti does.
        """
        self._model = model
        self._embedder = embedder
        self._steering = steering
        self._ontology = ontology
        self._gate = gate
        self._candidates: WeakKeyDictionary[Group, Candidates] = WeakKeyDictionary()

    def recipe(self, group: GroupId, kind: str = "") -> str:
        return ids.digest(
            "llm",
            _VERSION,
            version("graphiti-core"),
            self._model.name,
            self._steering.of(group, kind).digest,
            self._ontology.digest,
        )

    async def close(self) -> None:
        """Let go of the model's connections. Safe to repeat."""
        await self._model.close()

    async def extract(self, episode: Episode, context: Sequence[Episode]) -> Extracted:
        clients = _Clients(self._model, self._embedder, MirrorDriver())
        steer = self._steering.of(episode.turn.group_id, episode.kind)
        parts = []
        for number, told in enumerate(shown.told(episode)):
            before = shown.before(episode, number, context, whole=steer.instructions is None)
            key = ids.part_id(episode.turn_id, number)
            parts.append(await self._part(clients, told, before, key, steer))
            clients.check()
        return Extracted(tuple(context), tuple(parts), clients.model.usage)

    async def resolve(
        self, episode: Episode, extracted: Extracted, group: Group, *, now: datetime
    ) -> Resolved:
        whole = self._steering.of(episode.turn.group_id, episode.kind).instructions is None
        embedder = TurnEmbedder(self._embedder)
        draft = Draft(group)
        candidates = DraftCandidates(draft, self._of(group))
        mentions, usage = [], extracted.usage
        for number, (told, part) in enumerate(
            zip(shown.told(episode), extracted.parts, strict=True)
        ):
            driver = MirrorDriver.of(draft, candidates, embedder.remember)
            clients = _Clients(self._model, embedder, driver)
            before = shown.before(episode, number, extracted.context, whole=whole)
            nodes, edges = await self._resolve(clients, told, before, part)
            clients.check()
            said = outcome.resolved(nodes, edges, draft, known=embedder.known, now=now)
            await _take(draft, said, embedder)
            mentions.append(said.mentions)
            usage += clients.model.usage
        return replace(outcome.of_draft(draft, mentions), usage=usage)

    async def _part(
        self,
        clients: "_Clients",
        told: EpisodicNode,
        before: list[EpisodicNode],
        key: str,
        steer: Steer,
    ) -> Part:
        nodes = await self._nodes(clients, told, before, steer)
        edges, made = await self._edges(clients, told, before, nodes, steer)
        for edge in edges:
            # Of the part: that a turn says a thing twice is found out when it is resolved.
            ends = edge.source_node_uuid, edge.name, edge.target_node_uuid
            edge.uuid = ids.fact_id(TurnId(key), *ends, edge.fact)
        entities = {node.uuid: convert.entity(node) for node in nodes}
        endpoints = {node.uuid: convert.entity(node) for node in made}
        facts = {edge.uuid: convert.fact(edge) for edge in edges}
        return Part(
            entities=tuple(entities.values()),
            endpoints=tuple(node for uuid, node in endpoints.items() if uuid not in entities),
            facts=tuple(facts.values()),
        )

    def _of(self, group: Group) -> Candidates:
        if group not in self._candidates:
            self._candidates[group] = Candidates(group)
        return self._candidates[group]

    async def _nodes(
        self, clients: "_Clients", told: EpisodicNode, before: list[EpisodicNode], steer: Steer
    ) -> list[EntityNode]:
        nodes, _ = await extract_nodes(
            clients.bundle,
            told,
            before,
            self._ontology.entity_types,
            custom_extraction_instructions=steer.instructions,
        )
        for node in nodes:
            node.uuid = _named(told, node)
            # They come out of a set, in another order in every process.
            node.labels.sort()
        return nodes

    async def _edges(
        self,
        clients: "_Clients",
        told: EpisodicNode,
        before: list[EpisodicNode],
        nodes: list[EntityNode],
        steer: Steer,
    ) -> tuple[list[EntityEdge], list[EntityNode]]:
        """Return the facts, and the endpoints that only they name."""
        edges, made = await extract_edges(
            clients.bundle,
            told,
            # It appends the endpoints that it makes.
            list(nodes),
            before,
            self._ontology.edge_type_map,
            told.group_id,
            self._ontology.edge_types,
            custom_extraction_instructions=steer.instructions,
        )
        keys = {node.uuid: _named(told, node) for node in made}
        for node in made:
            node.uuid = keys[node.uuid]
        for edge in edges:
            edge.source_node_uuid = keys.get(edge.source_node_uuid, edge.source_node_uuid)
            edge.target_node_uuid = keys.get(edge.target_node_uuid, edge.target_node_uuid)
            if edge.valid_at is None and edge.invalid_at is None:
                edge.valid_at = told.valid_at
        return edges, made

    async def _resolve(
        self,
        clients: "_Clients",
        told: EpisodicNode,
        before: list[EpisodicNode],
        part: Part,
    ) -> tuple[list[EntityNode], list[EntityEdge]]:
        """Return the part's entities and its new, confirmed and retired facts, as they shall be."""
        kinds = self._ontology.entity_types
        named = [convert.node(entity) for entity in part.entities]
        nodes, keys, _ = await resolve_extracted_nodes(clients.bundle, named, told, before, kinds)
        unknown = _by_name(map(convert.node, part.endpoints), nodes, keys)
        if unknown:
            more, more_keys, _ = await resolve_extracted_nodes(
                clients.bundle, unknown, told, before, kinds
            )
            keys |= more_keys
            nodes += outcome.not_among(more, nodes)
        confirmed, retired, new = await resolve_extracted_edges(
            clients.bundle,
            resolve_edge_pointers([convert.edge(fact) for fact in part.facts], keys),
            told,
            nodes,
            self._ontology.edge_types or {},
            self._ontology.edge_type_map,
        )
        nodes = await extract_attributes_from_nodes(
            clients.bundle, nodes, told, before, kinds, self._gate, edges=new
        )
        return nodes, confirmed + retired


async def _take(draft: Draft, said: Resolved, embedder: TurnEmbedder) -> None:
    """Take in what a part says; what was not embedded on the way is embedded now."""
    names = [one.name for one in said.entities if one.embedding is None]
    texts = [one.text for one in said.facts if one.embedding is None]
    if names or texts:
        await embedder.create_batch([*names, *texts])
    draft.take(
        (
            replace(one, embedding=one.embedding or embedder.known(one.name))
            for one in said.entities
        ),
        (replace(one, embedding=one.embedding or embedder.known(one.text)) for one in said.facts),
    )


class _Clients:
    """What Graphiti's building blocks are given for one turn."""

    def __init__(
        self, model: Model, embedder: Embedder | TurnEmbedder, driver: MirrorDriver
    ) -> None:
        self.model = TurnModel(model)
        self._driver = driver
        self.bundle = GraphitiClients(
            driver=driver,
            llm_client=self.model,
            embedder=embedder if isinstance(embedder, TurnEmbedder) else TurnEmbedder(embedder),
            cross_encoder=NoReranker(),
            tracer=NoOpTracer(),
        )

    def check(self) -> None:
        """Raise what Graphiti may have swallowed: a read that leaked, a call that failed."""
        self._driver.check()
        self.model.check()


def _named(told: EpisodicNode, node: EntityNode) -> str:
    return ids.named_id(TurnId(told.uuid), _normalize_string_exact(node.name))


def _by_name(
    endpoints: Iterable[EntityNode], nodes: Iterable[EntityNode], keys: dict[str, str]
) -> list[EntityNode]:
    """Enter in `keys` the endpoints that the turn's own things are; return the others."""
    known = {_normalize_string_exact(node.name): node.uuid for node in nodes}
    unknown = []
    for endpoint in endpoints:
        same = known.get(_normalize_string_exact(endpoint.name))
        if same is None:
            unknown.append(endpoint)
        else:
            keys[endpoint.uuid] = same
    return unknown
