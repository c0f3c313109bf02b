"""The same turns through Graphiti's `add_episode` on a real Neo4j, and through our extractor."""

import json
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter

import pytest
from graphiti_core import Graphiti
from graphiti_core.edges import EntityEdge
from graphiti_core.llm_client.config import LLMConfig
from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient
from graphiti_core.nodes import EntityNode, EpisodeType
from openai import AsyncOpenAI

from tests.extraction_llm import story
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import KEY, Asked, Provider
from tests.servers.toy import ToyEmbedder
from turnetl.extraction import ontology
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.ontology import Ontology
from turnetl.extraction.steering import always
from turnetl.graph import names
from turnetl.graph.mirror import convert
from turnetl.graph.mirror.group import Group
from turnetl.llm.chat import Model
from turnetl.llm.graphiti import NoReranker, TurnEmbedder
from turnetl.model import Episode, Fact

pytestmark = pytest.mark.neo4j

GROUP = "shop"


@dataclass(frozen=True)
class Said:
    """A fact without keys."""

    source: str
    name: str
    text: str
    target: str
    valid_at: datetime | None
    invalid_at: datetime | None
    expired: bool
    turns: tuple[int, ...]


@pytest.fixture
async def graphiti(
    neo4j: Neo4jServer, provider: Provider, embedder: ToyEmbedder
) -> AsyncIterator[Graphiti]:
    async with AsyncOpenAI(
        api_key=KEY, base_url=provider.base_url("openai"), max_retries=0
    ) as client:
        theirs = Graphiti(
            neo4j.address,
            neo4j.user,
            neo4j.password,
            llm_client=OpenAIGenericClient(LLMConfig(model="canned", api_key=KEY), client=client),
            embedder=TurnEmbedder(embedder),
            cross_encoder=NoReranker(),
        )
        await theirs.build_indices_and_constraints()
        yield theirs
        await theirs.close()  # type: ignore[no-untyped-call]  # Graphiti says nothing of it


async def test_the_same_answers_make_the_same_graph(
    graphiti: Graphiti, neo4j: Neo4jServer, model: Model, embedder: ToyEmbedder
) -> None:
    keys = await theirs(graphiti, neo4j, ontology.CODING, "Look closely.")
    nodes = await EntityNode.get_by_group_ids(graphiti.driver, [GROUP])
    edges = await EntityEdge.get_by_group_ids(graphiti.driver, [GROUP])
    mentions = neo4j.run(
        "MATCH (e:Episodic)-[:MENTIONS]->(n:Entity) RETURN DISTINCT e.uuid AS turn, n.name AS name"
    )

    group = story.empty_group()
    asks = LlmExtractor(model, embedder, steering=always("Look closely."))
    turns = story.episodes()
    results = await story.take_in(asks, turns, group, embedder)

    places = {str(turn.turn_id): place for place, turn in enumerate(turns)}
    assert things(map(convert.node, group.entities)) == things(nodes)
    assert said(group.facts, names_of(group), places) == said(
        map(convert.fact, edges), {node.uuid: node.name for node in nodes}, keys
    )
    named = names_of(group)
    ours = {
        (place, named[uuid]) for place, result in enumerate(results) for uuid in result.mentions
    }
    assert ours == {(keys[str(row["turn"])], row["name"]) for row in mentions}


async def test_without_preprocessing_the_requests_that_extract_are_graphitis_own(
    graphiti: Graphiti,
    neo4j: Neo4jServer,
    model: Model,
    embedder: ToyEmbedder,
    provider: Provider,
) -> None:
    await theirs(graphiti, neo4j, ontology.NONE, None)
    upstream = list(provider.asked)
    provider.asked.clear()
    asks = LlmExtractor(model, embedder, steering=always(None), ontology=ontology.NONE)
    await story.take_in(asks, story.episodes(), story.empty_group(), embedder)
    assert extracting(provider.asked) == extracting(upstream)
    assert len(extracting(upstream)) == 12


async def test_a_turn_costs_no_more_calls_than_with_graphiti(
    graphiti: Graphiti,
    neo4j: Neo4jServer,
    model: Model,
    embedder: ToyEmbedder,
    provider: Provider,
) -> None:
    await theirs(graphiti, neo4j, ontology.CODING, None)
    upstream = len(provider.asked)
    provider.asked.clear()
    asks = LlmExtractor(model, embedder, steering=always(None))
    await story.take_in(asks, story.episodes(), story.empty_group(), embedder)
    assert len(provider.asked) < upstream


async def theirs(
    graphiti: Graphiti, neo4j: Neo4jServer, kinds: Ontology, told: str | None
) -> dict[str, int]:
    """Put the story through `add_episode`; return which turn each of its episodes is."""
    turns = story.episodes()
    uuids: list[str] = []
    for place, turn in enumerate(turns):
        result = await graphiti.add_episode(
            name=str(place),
            episode_body=turn.text,
            source_description=names.SOURCE_DESCRIPTION,
            reference_time=time_of(turn),
            source=EpisodeType.message,
            group_id=GROUP,
            previous_episode_uuids=before(turns, place, uuids),
            entity_types=kinds.entity_types,
            edge_types=kinds.edge_types,
            custom_extraction_instructions=told,
        )
        uuids.append(result.episode.uuid)
        # Full-text indexes follow a moment later; the next turn's searches would miss what is new.
        neo4j.run("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    return {uuid: place for place, uuid in enumerate(uuids)}


def before(turns: list[Episode], place: int, uuids: list[str]) -> list[str]:
    session = turns[place].turn.session_id
    same = [
        uuid for turn, uuid in zip(turns, uuids, strict=False) if turn.turn.session_id == session
    ]
    return same[-3:]


def time_of(turn: Episode) -> datetime:
    assert turn.turn.started_at is not None
    return turn.turn.started_at


def things(nodes: Iterable[EntityNode]) -> set[tuple[str, tuple[str, ...], str]]:
    return {(node.name, tuple(sorted(node.labels)), lines(node.summary)) for node in nodes}


def lines(summary: str) -> str:
    return "\n".join(sorted(summary.splitlines()))


def names_of(group: Group) -> dict[str, str]:
    return {entity.uuid: entity.name for entity in group.entities}


def said(facts: Iterable[Fact], names: dict[str, str], turns: dict[str, int]) -> set[Said]:
    return {
        Said(
            names[fact.source],
            fact.name,
            fact.text,
            names[fact.target],
            fact.valid_at,
            fact.invalid_at,
            fact.expired_at is not None,
            tuple(turns[turn] for turn in fact.turns),
        )
        for fact in facts
    }


def extracting(asked: Iterable[Asked]) -> Counter[str]:
    """Return the bodies of the requests that extract: all that a provider sees but the sampling."""
    return Counter(
        in_order(
            json.dumps(
                {name: one.body[name] for name in ("messages", "response_format", "max_tokens")}
            )
        )
        for one in asked
        if fields_of(one) & {"extracted_entities", "edges"}
    )


def fields_of(asked: Asked) -> set[str]:
    return set(asked.body["response_format"]["json_schema"]["schema"]["properties"])


def in_order(body: str) -> str:
    """Sort the earlier turns: `add_episode` reads those named by uuid in no order."""

    def sort(found: re.Match[str]) -> str:
        shown = sorted(json.loads(json.loads(f'"{found[2]}"')), key=itemgetter("timestamp"))
        return f"{found[1]}{shown}"

    ordered, count = re.subn(r"(<PREVIOUS[_ ]MESSAGES>\\n)(\[.*?\])(?=\\n</PREVIOUS)", sort, body)
    assert count == 1
    return ordered


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Neo4j's driver warns about labels that an empty graph does not have yet."""
    caplog.set_level(logging.ERROR, logger="neo4j")
