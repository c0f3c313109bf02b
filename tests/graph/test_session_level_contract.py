"""What other programs wrote beside turns, with entities and facts: both stores read the same."""

from dataclasses import replace

import pytest

from tests.builders import GROUP, START
from tests.graph.committing import commit_all, commit_history, opened
from tests.graph.sample_changes import NOW, change, history, long_history, turn_id
from tests.legacy.graphs import DIMENSIONS, vector, write_foreign_data, write_legacy_graph
from tests.legacy.styles import LegacyEpisode
from tests.verification.verifying import plant
from turnetl.base.model import Change, GroupId, TurnId
from turnetl.graph.port import GraphStore
from turnetl.graph.session_level import UNKNOWN_TIME, SessionLevelCounts
from turnetl.llm.vectors import unpack

FILES = ("cart.py", "tax.py", "a.md")
EPISODE = LegacyEpisode("e-1", "session-1", "The cart was fixed.", "text", "summary", START, FILES)


async def test_an_empty_graph_has_no_session_level_data(store: GraphStore) -> None:
    assert list(await store.session_level_groups()) == []
    data = await store.session_level(GROUP, vectors=True)
    assert data.counts == SessionLevelCounts(GROUP, 0, 0, 0)


async def test_episodes_are_read_with_what_they_mention_and_state(graph_url: str) -> None:
    await write_legacy_graph(graph_url, [EPISODE], GROUP, written_at=NOW)
    async with opened(graph_url) as store:
        assert list(await store.session_level_groups()) == [GROUP]
        data = await store.session_level(GROUP, vectors=False)
    assert [episode.uuid for episode in data.episodes] == ["e-1"]
    assert {one.name: (one.labels, one.created_at) for one in data.entities} == dict.fromkeys(
        FILES, (("File",), NOW)
    )
    names = {one.uuid: one.name for one in data.entities}
    assert {(names[one.source], names[one.target], one.text, one.turns) for one in data.facts} == {
        ("cart.py", "tax.py", "cart.py was changed with tax.py", ("e-1",)),
        ("tax.py", "a.md", "tax.py was changed with a.md", ("e-1",)),
    }
    assert {one.valid_at for one in data.facts} == {START}
    assert [(one.episode, names[one.entity]) for one in data.mentions] == [
        ("e-1", names[uuid]) for uuid in sorted(names)
    ]
    assert {one.embedding for one in data.entities} == {None}
    assert {one.embedding for one in data.facts} == {None}


async def test_embeddings_are_read_on_demand(graph_url: str) -> None:
    await write_legacy_graph(graph_url, [EPISODE], GROUP)
    async with opened(graph_url) as store:
        data = await store.session_level(GROUP, vectors=True)
    expected = {name: vector(name, DIMENSIONS) for name in FILES}
    for one in data.entities:
        assert one.embedding is not None
        assert unpack(one.embedding).tolist() == pytest.approx(expected[one.name])
    assert all(one.embedding is not None for one in data.facts)


@pytest.mark.parametrize("changes", [history(), long_history()], ids=["whole", "in_chunks"])
async def test_turns_are_no_session_level_data(graph_url: str, changes: list[Change]) -> None:
    async with opened(graph_url) as store:
        await store.release(await commit_all(store, changes))
        assert list(await store.session_level_groups()) == []
    await write_foreign_data(graph_url, "elsewhere")
    async with opened(graph_url) as store:
        assert list(await store.session_level_groups()) == ["elsewhere"]
        nothing = SessionLevelCounts(GROUP, 0, 0, 0)
        assert (await store.session_level(GROUP, vectors=False)).counts == nothing


async def test_a_fact_that_a_turn_states_too_is_the_turns_and_its_entities_are_shared(
    graph_url: str,
) -> None:
    await write_legacy_graph(graph_url, [EPISODE], GROUP)
    async with opened(graph_url) as store:
        data = await store.session_level(GROUP, vectors=True)
        first = data.facts[0]
        ends = [one for one in data.entities if one.uuid in (first.source, first.target)]
        stated = replace(first, turns=(*first.turns, turn_id("p0")))
        await commit_all(
            store,
            [change("p0", ends, [stated], entities_before=tuple(ends), facts_before=(first,))],
        )
        after = await store.session_level(GROUP, vectors=False)
        counts = await store.counts(GROUP)
    assert [one.uuid for one in after.facts] == [data.facts[1].uuid]
    assert after.shared_entities == {first.source, first.target}
    assert after.counts == SessionLevelCounts(GROUP, 1, 1, 1)
    assert counts == (2, 3, 2)


async def test_the_state_changes_with_every_episode_of_any_program(graph_url: str) -> None:
    async with opened(graph_url) as store:
        states = [await store.content_state()]
        await commit_history(store)
        states.append(await store.content_state())
        assert await store.content_state() == states[-1]
    await write_legacy_graph(graph_url, [EPISODE], GROUP)
    async with opened(graph_url) as store:
        states.append(await store.content_state())
    assert len(set(states)) == 3


async def test_data_by_hand_without_most_properties_are_read(graph_url: str) -> None:
    async with opened(graph_url):
        pass
    is_embedded = graph_url.startswith("ladybug")
    link = (
        "(a)-[:RELATES_TO]->(:RelatesToNode_ {uuid: 'f', group_id: 'by hand', episodes: ['bare']})"
        "-[:RELATES_TO]->(b)"
        if is_embedded
        else "(a)-[:RELATES_TO {uuid: 'f', group_id: 'by hand', episodes: ['bare']}]->(b)"
    )
    await plant(
        graph_url,
        "CREATE (:Episodic {uuid: 'bare', group_id: 'by hand'})",
        "CREATE (:Entity {uuid: 'a', group_id: 'by hand'})",
        "CREATE (:Entity {uuid: 'b', group_id: 'by hand'})",
        f"MATCH (a:Entity {{uuid: 'a'}}), (b:Entity {{uuid: 'b'}}) CREATE {link}",
    )
    async with opened(graph_url) as store:
        data = await store.session_level(GroupId("by hand"), vectors=True)
    [stated] = data.facts
    assert (stated.source, stated.target, stated.text, stated.turns) == (
        "a",
        "b",
        "",
        (TurnId("bare"),),
    )
    assert {stated.created_at, *(one.created_at for one in data.entities)} == {UNKNOWN_TIME}


async def test_communities_and_sagas_of_others_are_no_part_of_it(graph_url: str) -> None:
    await write_foreign_data(graph_url, GROUP)
    async with opened(graph_url) as store:
        data = await store.session_level(GROUP, vectors=False)
    assert data.counts == SessionLevelCounts(GROUP, 2, 1, 0)
    assert [one.name for one in data.entities] == ["Ada"]
