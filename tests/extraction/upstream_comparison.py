"""Turns through Graphiti's `add_episode` on a real Neo4j and through ours, and what came of them.

What is not compared, because it is meant to differ:

- Keys and times of writing: ours are digests and the run's clock, so that a turn done again gives
  the same.
- Two MENTIONS of one thing by one turn, where two names turned out to be one: ours are one.
- The lines of a summary have no order: Graphiti adds them in the order of facts.
- A fact without a date is dated from its turn; Graphiti asks the model, which is told the turn's
  time and here says it back.
- Where a turn confirms a fact and ends it too, `add_episode` writes two copies of it, and the last
  one, ended, does not name the turn: ours does. `confirmed_otherwise` looks past that.
- Ours leaves out what is junk: the turns and answers here hold none, and the tests see to it.
"""

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter
from typing import Any, Protocol

from graphiti_core import Graphiti
from graphiti_core.edges import EntityEdge
from graphiti_core.llm_client.config import LLMConfig
from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient
from graphiti_core.nodes import EntityNode, EpisodeType
from openai import AsyncOpenAI

from tests.builders import GROUP
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import KEY, Asked
from turnetl.extraction.ontology import Ontology
from turnetl.graph import names
from turnetl.graph.mirror import convert
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.graphiti import GraphitiEmbedder, NoReranker
from turnetl.model import Entity, Episode, Fact

Turns = Mapping[str, int]
"""Which turn, by the key of its episode."""


@dataclass(frozen=True, order=True)
class Said:
    """A fact without keys."""

    source: str
    name: str
    text: str
    target: str
    valid_at: datetime | None
    turns: tuple[int, ...]
    invalid_at: datetime | None
    expired: bool

    @property
    def standing(self) -> "Said":
        """The fact as it was first said, whether confirmed or retired since."""
        return replace(self, turns=self.turns[:1], invalid_at=None, expired=False)


@dataclass(frozen=True)
class Told:
    """A graph without keys."""

    things: Counter[tuple[str, tuple[str, ...], str]]
    """Name, labels, summary."""
    facts: Counter[Said]
    mentions: frozenset[tuple[int, str]]
    """Turn, name."""

    @property
    def standing(self) -> Counter[Said]:
        """The facts as they were first said, whether confirmed or retired since."""
        return Counter(fact.standing for fact in self.facts.elements())

    def retired_otherwise(self, other: "Told") -> int:
        """Return how many facts are retired in one of the two only, or at another time."""
        mine, theirs = (
            Counter((fact.standing, fact.invalid_at, fact.expired) for fact in one.facts.elements())
            for one in (self, other)
        )
        return (mine - theirs).total()

    def confirmed_otherwise(self, other: "Told") -> int:
        """Return how many facts that are retired in neither of the two are of other turns."""
        retired = {fact.standing for one in (self, other) for fact in one.facts if fact.expired}
        mine, theirs = (
            Counter(fact for fact in one.facts.elements() if fact.standing not in retired)
            for one in (self, other)
        )
        return (mine - theirs).total()


class Answering(Protocol):
    """A provider that was started, here or in another process."""

    def base_url(self, provider: str) -> str: ...


@asynccontextmanager
async def upstream(
    neo4j: Neo4jServer, provider: Answering, embedder: Embedder
) -> AsyncIterator[Graphiti]:
    """Give a Graphiti on an empty Neo4j that asks the canned provider."""
    async with AsyncOpenAI(
        api_key=KEY, base_url=provider.base_url("openai"), max_retries=0
    ) as client:
        theirs = Graphiti(
            neo4j.address,
            neo4j.user,
            neo4j.password,
            # Its own default is 1, which would be another answer every time.
            llm_client=OpenAIGenericClient(
                LLMConfig(model="canned", api_key=KEY, temperature=0), client=client
            ),
            embedder=GraphitiEmbedder(embedder),
            cross_encoder=NoReranker(),
        )
        await theirs.build_indices_and_constraints()
        yield theirs
        await theirs.close()  # type: ignore[no-untyped-call]  # Graphiti says nothing of it


async def add_episodes(
    graphiti: Graphiti, turns: Sequence[Episode], kinds: Ontology, told: str | None
) -> Turns:
    """Put the turns through `add_episode`, with the context that ours would show."""
    uuids: list[str] = []
    for place, turn in enumerate(turns):
        result = await graphiti.add_episode(
            name=str(place),
            episode_body=turn.text,
            source_description=names.SOURCE_DESCRIPTION,
            reference_time=_time_of(turn),
            source=EpisodeType.message,
            group_id=GROUP,
            previous_episode_uuids=_before(turns, place, uuids),
            entity_types=kinds.entity_types,
            edge_types=kinds.edge_types,
            custom_extraction_instructions=told,
        )
        uuids.append(result.episode.uuid)
        # Full-text indexes follow a moment later; the next turn's searches would miss what is new.
        await graphiti.driver.execute_query(
            "CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()"
        )
    return {uuid: place for place, uuid in enumerate(uuids)}


async def of_graphiti(graphiti: Graphiti, neo4j: Neo4jServer, turns: Turns) -> Told:
    """Return what stands in Graphiti's database."""
    nodes = await EntityNode.get_by_group_ids(graphiti.driver, [GROUP])
    edges = await EntityEdge.get_by_group_ids(graphiti.driver, [GROUP])
    mentions = neo4j.run("MATCH (e:Episodic)-[:MENTIONS]->(n:Entity) RETURN e.uuid, n.uuid")
    return told(
        [convert.entity(node) for node in nodes],
        [convert.fact(edge) for edge in edges],
        [(str(row["e.uuid"]), str(row["n.uuid"])) for row in mentions],
        turns,
    )


def told(
    entities: Iterable[Entity],
    facts: Iterable[Fact],
    mentions: Iterable[tuple[str, str]],
    turns: Turns,
) -> Told:
    """Return the graph without keys; mentions are pairs of turn and thing."""
    things = {entity.uuid: entity for entity in entities}
    named = {uuid: entity.name for uuid, entity in things.items()}
    return Told(
        Counter((one.name, one.labels, _lines(one.summary)) for one in things.values()),
        Counter(_said(fact, named, turns) for fact in facts),
        frozenset((turns[turn], named[thing]) for turn, thing in mentions),
    )


def numbered(turns: Sequence[Episode]) -> Turns:
    return {str(turn.turn_id): place for place, turn in enumerate(turns)}


def bodies(asked: Iterable[Asked]) -> Counter[str]:
    """Return each request as a provider reads it, every field of it.

    What has no order in Graphiti is sorted: earlier turns, which it reads by uuid, and labels,
    which it takes out of a set.
    """
    return Counter(
        json.dumps(
            {
                **one.body,
                "messages": [
                    {**said, "content": _ordered(said["content"])} for said in one.body["messages"]
                ],
            },
            sort_keys=True,
        )
        for one in asked
    )


def fields_of(asked: Asked) -> set[str]:
    """Return the fields that the answer shall have."""
    return set(asked.body["response_format"]["json_schema"]["schema"]["properties"])


def _before(turns: Sequence[Episode], place: int, uuids: Sequence[str]) -> list[str]:
    session = turns[place].turn.session_id
    same = [
        uuid for turn, uuid in zip(turns, uuids, strict=False) if turn.turn.session_id == session
    ]
    return same[-3:]


def _time_of(turn: Episode) -> datetime:
    assert turn.turn.started_at is not None
    return turn.turn.started_at


def _said(fact: Fact, named: Mapping[str, str], turns: Turns) -> Said:
    return Said(
        named[fact.source],
        fact.name,
        fact.text,
        named[fact.target],
        fact.valid_at,
        tuple(sorted(turns[turn] for turn in fact.turns)),
        fact.invalid_at,
        fact.expired_at is not None,
    )


def _lines(summary: str) -> str:
    return "\n".join(sorted(summary.splitlines()))


_SHOWN = re.compile(r"(<PREVIOUS[_ ]MESSAGES>\n|<MESSAGES>\n)(\[.*?\])(?=\n)", re.DOTALL)
_LABELS = re.compile(r'("entity_types?": )(\[[^\]]*\])')


def _ordered(text: str) -> str:
    return _LABELS.sub(_labels_sorted, _SHOWN.sub(_turns_sorted, text))


def _turns_sorted(found: re.Match[str]) -> str:
    shown: list[dict[str, Any]] = json.loads(found[2])
    return f"{found[1]}{json.dumps(sorted(shown, key=itemgetter('timestamp')))}"


def _labels_sorted(found: re.Match[str]) -> str:
    return f"{found[1]}{sorted(json.loads(found[2]))}"
