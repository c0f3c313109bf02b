"""What the builders of session-level graphs write is what Graphiti's own `add_episode` writes."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, run_in_process
from tests.extraction.upstream_comparison import open_graphiti
from tests.legacy.graphs import add_sessions, write_foreign_data, write_legacy_graph
from tests.legacy.sessions import LegacySession, legacy_sessions
from tests.legacy.styles import LegacyEpisode, LegacyStyle, legacy_episode
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import FakeProvider
from tests.servers.toy_embedder import ToyEmbedder

pytestmark = pytest.mark.neo4j

GROUP = "old-summaries"
Shapes = Mapping[tuple[str, ...], Mapping[str, set[str]]]
"""The types of each property, by labels of nodes, or by labels and relationship of edges."""


def chosen_sessions() -> list[LegacySession]:
    """Return the sample sessions with two or more files, all of which the canned model knows."""
    return [
        session
        for session in legacy_sessions(SAMPLES)
        if len(session.files) > 1 and all(file.endswith(".py") for file in session.files)
    ]


def summaries() -> dict[str, tuple[LegacySession, LegacyEpisode]]:
    """Return the sessions in every style, by name and description and body."""
    pairs = [
        (session, legacy_episode(session, style))
        for session in chosen_sessions()
        for style in LegacyStyle
    ]
    return {episode.body + episode.name: (session, episode) for session, episode in pairs}


async def add(neo4j: Neo4jServer, provider: FakeProvider) -> None:
    """Fill the graph as a session-level program does."""
    episodes = [episode for _, episode in summaries().values()]
    async with open_graphiti(neo4j, provider, ToyEmbedder()) as graphiti:
        await add_sessions(graphiti, episodes, GROUP)


async def test_the_builders_write_the_rows_of_add_episode(
    neo4j: Neo4jServer, provider: FakeProvider
) -> None:
    await add(neo4j, provider)
    upstream, facts, mentions = shapes(neo4j), statements(neo4j), mentioned(neo4j)
    neo4j.clear()
    await write_legacy_graph(neo4j.url, [one for _, one in summaries().values()], GROUP)
    assert shapes(neo4j) == upstream
    assert statements(neo4j) == facts
    assert mentioned(neo4j) == mentions
    assert len(facts) > len(chosen_sessions()) > 1


def test_a_graph_of_add_episode_is_planned_as_one_of_the_builders(
    neo4j: Neo4jServer, provider: FakeProvider, tmp_path: Path
) -> None:
    async def fill() -> None:
        await add(neo4j, provider)
        await write_foreign_data(neo4j.url, GROUP, dimensions=ToyEmbedder.dimensions)

    asyncio.run(fill())
    result = run_in_process(
        "migrate", "plan", str(SAMPLES), "--graph", neo4j.url, "--json", folder=tmp_path
    )
    assert result.exit_code == 0, result.stderr
    [group] = result.json["groups"]
    expected = Counter(session.session_id for session, _ in summaries().values())
    found = Counter(one["session_id"] for one in group["episodes"] if one["kind"] == "matched")
    assert found == expected
    assert Counter(one["kind"] for one in group["episodes"])["foreign"] == 2
    assert group["embedding_sizes"] == {str(ToyEmbedder.dimensions): group["entities"]}


def shapes(neo4j: Neo4jServer) -> Shapes:
    nodes = neo4j.run("MATCH (n) RETURN [labels(n)] AS kind, properties(n) AS row")
    edges = neo4j.run(
        "MATCH (a)-[r]->(b) RETURN [labels(a), [type(r)], labels(b)] AS kind, properties(r) AS row"
    )
    found: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for one in [*nodes, *edges]:
        kind, row = one["kind"], one["row"]
        assert isinstance(kind, list)
        assert isinstance(row, dict)
        shape = found.setdefault(tuple("/".join(sorted(labels)) for labels in kind), {})
        for name, value in row.items():
            shape.setdefault(name, set()).add(type(value).__name__)
    return found


def statements(neo4j: Neo4jServer) -> Counter[tuple[object, ...]]:
    """Return each fact, with the episodes that state it and its date."""
    return Counter(
        tuple(row.values())
        for row in neo4j.run(
            """MATCH (a:Entity)-[r:RELATES_TO]->(b:Entity)
            RETURN a.name, r.name, r.fact, b.name, size(r.episodes), r.valid_at"""
        )
    )


def mentioned(neo4j: Neo4jServer) -> Counter[tuple[object, ...]]:
    """Return each episode with an entity that it mentions."""
    return Counter(
        tuple(row.values())
        for row in neo4j.run(
            """MATCH (e:Episodic)-[:MENTIONS]->(n:Entity)
            RETURN e.name, e.source, e.source_description, e.content, e.valid_at,
                size(e.entity_edges), n.name"""
        )
    )
