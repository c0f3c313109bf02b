"""Episodes, mentions and communities are loaded as they were written, by both stores."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import ladybug
import pytest

from tests.builders import GROUP
from tests.graph import searched_project
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, long_history, receipt
from tests.servers.neo4j_server import Neo4jServer
from turnetl.base import ids
from turnetl.base.graph_model import Community, EpisodeNode, Mention, Subgraphs
from turnetl.base.model import Change, GroupId
from turnetl.graph import graphiti_names
from turnetl.graph.ladybug.rows import without_zone
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore


async def commit_all(store: GraphStore, changes: list[Change], group: GroupId = GROUP) -> None:
    lease = await store.acquire(
        group, PROFILE, owner="host:1", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    for change in changes:
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)


async def test_an_empty_group_has_no_subgraphs(store: GraphStore) -> None:
    assert await store.load_subgraphs(GROUP) == Subgraphs((), (), ())


async def test_episodes_and_mentions_are_loaded_as_they_were_written(store: GraphStore) -> None:
    await commit_all(store, history())
    await commit_all(store, history(GroupId("other")), GroupId("other"))
    subgraphs = await store.load_subgraphs(GROUP)
    assert set(subgraphs.episodes) == {
        EpisodeNode(
            uuid=change.episode.turn_id,
            group_id=GROUP,
            name=graphiti_names.episode_name(change.episode.turn),
            text=change.episode.text,
            source=graphiti_names.SOURCE,
            source_description=graphiti_names.SOURCE_DESCRIPTION,
            created_at=NOW,
            valid_at=change.episode.turn.started_at or NOW,
        )
        for change in history()
    }
    mentions = [
        Mention(change.episode.turn_id, uuid) for change in history() for uuid in change.mentions
    ]
    assert list(subgraphs.mentions) == sorted(
        mentions, key=lambda mention: (mention.episode, mention.entity)
    )


async def test_each_chunk_of_a_long_turn_is_an_episode_with_its_own_mentions(
    store: GraphStore,
) -> None:
    await commit_all(store, long_history())
    subgraphs = await store.load_subgraphs(GROUP)
    second = long_history()[1]
    (failed,) = second.facts
    chunks = [ids.chunk_id(second.episode.turn_id, number) for number in range(3)]
    loaded = {episode.uuid: episode for episode in subgraphs.episodes}
    assert [loaded[uuid].text for uuid in chunks] == list(second.episode.chunks)
    assert loaded[chunks[1]].valid_at - loaded[chunks[0]].valid_at == timedelta(microseconds=1)
    mentioned = {(mention.episode, mention.entity) for mention in subgraphs.mentions}
    assert {(chunks[1], failed.source), (chunks[2], failed.source)} <= mentioned
    assert (chunks[0], failed.source) not in mentioned


async def test_communities_of_another_program_are_loaded(
    graph_url: str, request: pytest.FixtureRequest
) -> None:
    store = await open_graph(graph_url, user="", password="")
    await store.prepare()
    await store.close()
    written = searched_project.communities()
    foreign = replace(written[0], uuid="elsewhere", group_id=GroupId("other"))
    for community in (*written, foreign):
        _write_community(graph_url, request, community)
    store = await open_graph(graph_url, user="", password="")
    assert (await store.load_subgraphs(GROUP)).communities == tuple(written)
    await store.close()


def _write_community(url: str, request: pytest.FixtureRequest, community: Community) -> None:
    statement = (
        "CREATE (:Community {uuid: $uuid, group_id: $group_id, name: $name, summary: $summary, "
        "created_at: $created_at})"
    )
    properties: dict[str, Any] = {
        "uuid": community.uuid,
        "group_id": community.group_id,
        "name": community.name,
        "summary": community.summary,
        "created_at": community.created_at,
    }
    if not url.startswith("ladybug"):
        server: Neo4jServer = request.getfixturevalue("neo4j")
        server.run(statement, **properties)
        return
    database = ladybug.Database(str(Path(url.removeprefix("ladybug://"))))
    connection = ladybug.Connection(database)
    properties["created_at"] = without_zone(community.created_at)
    connection.execute(statement, properties)
    connection.close()
    database.close()
