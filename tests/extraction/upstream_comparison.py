"""Graphs in a form that two implementations can be compared in, and Graphiti's `add_episode`.

Deliberate differences between `add_episode` and turnetl's pipeline, which the comparison ignores:

- Keys and write times: turnetl's are digests and the run's clock, so that a repeated turn gives the
  same values.
- Two MENTIONS of one entity by one turn, where two names were resolved to one: turnetl writes one.
- Summaries: Graphiti writes them with each turn, from the facts that the turn states, and turnetl
  after its gate, from the active facts. `without_summaries` ignores them; test_differential_long
  compares the facts that both name.
- The date of a fact without one: turnetl uses the turn's time; Graphiti asks the model, which gets
  the turn's time in the prompt and here returns it.
- The start of a fact that ended before it: `add_episode` keeps both, as for "I'll add it", which it
  takes for a plan that starts with the turn, and turnetl only the end. `without_late_starts`.
- A turn that confirms a fact and invalidates it too: `add_episode` writes two copies of the fact,
  and the last one, invalidated, does not name the turn; turnetl's does. `confirmed_differently`
  ignores that.
- Names on the stoplist: turnetl discards them. The turns and responses here contain none, and the
  tests check it.
"""

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

from graphiti_core import Graphiti
from graphiti_core.edges import EntityEdge
from graphiti_core.llm_client.config import LLMConfig
from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient
from graphiti_core.nodes import EntityNode, EpisodeType
from openai import AsyncOpenAI

from tests.builders import GROUP
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import KEY, ReceivedRequest
from turnetl.base.model import Entity, Episode, Fact
from turnetl.extraction.ontology import Ontology, parse
from turnetl.graph import graphiti_names
from turnetl.graph.mirror import convert
from turnetl.llm.embedders import Embedder
from turnetl.llm.graphiti import GraphitiEmbedder, NoReranker

_FILE = Path(__file__).parent / "upstream" / "unsigned.toml"
UNSIGNED = parse(_FILE.read_text("utf-8"), _FILE)
"""Without signatures, to which turnetl fits relations and `add_episode` does not."""

TurnNumbers = Mapping[str, int]
"""The position of each turn, by the key of its episode."""


@dataclass(frozen=True, order=True)
class ComparableFact:
    """A fact without keys."""

    source: str
    relation: str
    text: str
    target: str
    valid_at: datetime | None
    turns: tuple[int, ...]
    invalid_at: datetime | None
    expired: bool

    @property
    def as_first_stated(self) -> "ComparableFact":
        """The fact before any later turn confirmed or invalidated it."""
        return replace(self, turns=self.turns[:1], invalid_at=None, expired=False)

    @property
    def ends_before_start(self) -> bool:
        return bool(self.valid_at and self.invalid_at and self.invalid_at < self.valid_at)


@dataclass(frozen=True)
class ComparableGraph:
    """A graph without keys."""

    entities: Counter[tuple[str, tuple[str, ...], str]]
    """Name, labels, summary."""
    facts: Counter[ComparableFact]
    mentions: frozenset[tuple[int, str]]
    """Turn, name."""

    @property
    def without_summaries(self) -> "ComparableGraph":
        """The graph without summaries: turnetl's are written apart from the extraction."""
        names_and_labels = Counter[tuple[str, tuple[str, ...], str]]()
        for (name, labels, _), count in self.entities.items():
            names_and_labels[name, labels, ""] += count
        return replace(self, entities=names_and_labels)

    @property
    def without_late_starts(self) -> "ComparableGraph":
        """The graph whose facts that end before they start have only the end."""
        facts = Counter[ComparableFact]()
        for fact, count in self.facts.items():
            facts[replace(fact, valid_at=None) if fact.ends_before_start else fact] += count
        return replace(self, facts=facts)

    @property
    def facts_as_first_stated(self) -> Counter[ComparableFact]:
        return Counter(fact.as_first_stated for fact in self.facts.elements())

    def invalidated_differently(self, other: "ComparableGraph") -> int:
        """Return how many facts only one graph invalidates, or both at different times."""
        mine, theirs = (
            Counter(
                (fact.as_first_stated, fact.invalid_at, fact.expired)
                for fact in graph.facts.elements()
            )
            for graph in (self, other)
        )
        return (mine - theirs).total()

    def confirmed_differently(self, other: "ComparableGraph") -> int:
        """Return how many facts that neither graph invalidates belong to different turns."""
        invalidated = {
            fact.as_first_stated for graph in (self, other) for fact in graph.facts if fact.expired
        }
        mine, theirs = (
            Counter(
                fact for fact in graph.facts.elements() if fact.as_first_stated not in invalidated
            )
            for graph in (self, other)
        )
        return (mine - theirs).total()


class ModelServer(Protocol):
    """A running model provider, in this process or another."""

    def base_url(self, provider: str) -> str: ...


@asynccontextmanager
async def open_graphiti(
    neo4j: Neo4jServer, provider: ModelServer, embedder: Embedder
) -> AsyncIterator[Graphiti]:
    """Yield a Graphiti on an empty Neo4j that sends its requests to the canned provider."""
    async with AsyncOpenAI(
        api_key=KEY, base_url=provider.base_url("openai"), max_retries=0
    ) as client:
        graphiti = Graphiti(
            neo4j.address,
            neo4j.user,
            neo4j.password,
            # Graphiti's default is 1, which would make responses vary.
            llm_client=OpenAIGenericClient(
                LLMConfig(model="canned", api_key=KEY, temperature=0), client=client
            ),
            embedder=GraphitiEmbedder(embedder),
            cross_encoder=NoReranker(),
        )
        await graphiti.build_indices_and_constraints()
        yield graphiti
        await graphiti.close()  # type: ignore[no-untyped-call]  # Graphiti does not annotate it


async def add_episodes(
    graphiti: Graphiti, turns: Sequence[Episode], ontology: Ontology, instructions: str | None
) -> TurnNumbers:
    """Put the turns through `add_episode`, with the same context as our pipeline."""
    uuids: list[str] = []
    for number, turn in enumerate(turns):
        result = await graphiti.add_episode(
            name=str(number),
            episode_body=turn.text,
            source_description=graphiti_names.SOURCE_DESCRIPTION,
            reference_time=_start(turn),
            source=EpisodeType.message,
            group_id=GROUP,
            previous_episode_uuids=_previous(turns, number, uuids),
            entity_types=ontology.entity_types,
            edge_types=ontology.edge_types,
            custom_extraction_instructions=instructions,
        )
        uuids.append(result.episode.uuid)
        # Full-text indexes are updated later; the next turn's searches would miss new entries.
        await graphiti.driver.execute_query(
            "CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()"
        )
    return {uuid: number for number, uuid in enumerate(uuids)}


async def read_graph(
    graphiti: Graphiti, neo4j: Neo4jServer, numbers: TurnNumbers
) -> ComparableGraph:
    """Return the graph in Graphiti's database."""
    nodes = await EntityNode.get_by_group_ids(graphiti.driver, [GROUP])
    edges = await EntityEdge.get_by_group_ids(graphiti.driver, [GROUP])
    mentions = neo4j.run("MATCH (e:Episodic)-[:MENTIONS]->(n:Entity) RETURN e.uuid, n.uuid")
    return comparable(
        [convert.from_node(node) for node in nodes],
        [convert.from_edge(edge) for edge in edges],
        [(str(row["e.uuid"]), str(row["n.uuid"])) for row in mentions],
        numbers,
    )


def comparable(
    entities: Iterable[Entity],
    facts: Iterable[Fact],
    mentions: Iterable[tuple[str, str]],
    numbers: TurnNumbers,
) -> ComparableGraph:
    """Return the graph without keys; mentions are pairs of turn and entity."""
    by_uuid = {entity.uuid: entity for entity in entities}
    names_by_uuid = {uuid: entity.name for uuid, entity in by_uuid.items()}
    return ComparableGraph(
        Counter(
            (entity.name, entity.labels, _sorted_lines(entity.summary))
            for entity in by_uuid.values()
        ),
        Counter(_comparable_fact(fact, names_by_uuid, numbers) for fact in facts),
        frozenset((numbers[turn], names_by_uuid[entity]) for turn, entity in mentions),
    )


def turn_numbers(turns: Sequence[Episode]) -> TurnNumbers:
    return {str(turn.turn_id): number for number, turn in enumerate(turns)}


def _without_limits(value: Any) -> Any:
    if isinstance(value, dict):
        limits = ("max_tokens", "max_completion_tokens", "maxItems")
        return {key: _without_limits(one) for key, one in value.items() if key not in limits}
    return [*map(_without_limits, value)] if isinstance(value, list) else value


def request_bodies(requests: Iterable[ReceivedRequest]) -> Counter[str]:
    """Return each request as a provider receives it, with all fields.

    Lists without an order in Graphiti are sorted: earlier turns, which it reads by uuid, and
    labels, which it takes from a set. Summaries of candidates are left out, and so are the limits
    of a response: turnetl's end what a small model repeats.
    """
    return Counter(
        json.dumps(
            {
                **_without_limits(request.body),
                "messages": [
                    {**message, "content": _sort_unordered_lists(message["content"])}
                    for message in request.body["messages"]
                ],
            },
            sort_keys=True,
        )
        for request in requests
    )


def response_fields(request: ReceivedRequest) -> set[str]:
    """Return the fields that the response must have."""
    return set(request.body["response_format"]["json_schema"]["schema"]["properties"])


def _previous(turns: Sequence[Episode], number: int, uuids: Sequence[str]) -> list[str]:
    session = turns[number].turn.session_id
    same_session = [
        uuid for turn, uuid in zip(turns, uuids, strict=False) if turn.turn.session_id == session
    ]
    return same_session[-3:]


def _start(turn: Episode) -> datetime:
    assert turn.turn.started_at is not None
    return turn.turn.started_at


def _comparable_fact(
    fact: Fact, names_by_uuid: Mapping[str, str], numbers: TurnNumbers
) -> ComparableFact:
    return ComparableFact(
        names_by_uuid[fact.source],
        fact.relation,
        fact.text,
        names_by_uuid[fact.target],
        fact.valid_at,
        tuple(sorted(numbers[turn] for turn in fact.turns)),
        fact.invalid_at,
        fact.expired_at is not None,
    )


def _sorted_lines(summary: str) -> str:
    return "\n".join(sorted(summary.splitlines()))


_EARLIER_TURNS = re.compile(r"(<PREVIOUS[_ ]MESSAGES>\n|<MESSAGES>\n)(\[.*?\])(?=\n)", re.DOTALL)
_SUMMARIES = re.compile(r'("summary": )"(?:[^"\\]|\\.)*"')
_LABELS = re.compile(r'("entity_types?": )(\[[^\]]*\])')


def _sort_unordered_lists(text: str) -> str:
    without_summaries = _SUMMARIES.sub(r'\1""', text)
    return _LABELS.sub(_sort_labels, _EARLIER_TURNS.sub(_sort_turns, without_summaries))


def _sort_turns(match: re.Match[str]) -> str:
    turns: list[dict[str, Any]] = json.loads(match[2])
    return f"{match[1]}{json.dumps(sorted(turns, key=itemgetter('timestamp')))}"


def _sort_labels(match: re.Match[str]) -> str:
    return f"{match[1]}{sorted(json.loads(match[2]))}"
