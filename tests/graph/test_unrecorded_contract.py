"""What other programs wrote is read whatever it lacks, and turns are not: by both stores."""

from datetime import timedelta

import pytest

from tests.builders import GROUP, START
from tests.graph.committing import commit_all, commit_history, opened
from tests.graph.sample_changes import NOW, PROFILE, history, long_history
from tests.legacy.graphs import write_foreign_data, write_legacy_graph
from tests.legacy.styles import LegacyEpisode
from tests.verification.verifying import plant
from turnetl.base.model import Change, GroupId
from turnetl.graph.port import GraphStore
from turnetl.graph.session_level import UnrecordedEpisode

FILES = ("cart.py", "tax.py", "a.md")
EPISODE = LegacyEpisode("e-1", "session-1", "The cart was fixed.", "text", "summary", START, FILES)
OTHER_DIMENSIONS = PROFILE.dimensions + 3
EXPECTED = UnrecordedEpisode(
    uuid="e-1",
    group_id=GROUP,
    name="session-1",
    text="The cart was fixed.",
    source="text",
    source_description="summary",
    created_at=NOW,
    valid_at=START,
    entities=3,
    facts=2,
)


async def test_an_empty_graph_holds_no_episode(store: GraphStore) -> None:
    assert list(await store.episode_groups()) == []
    assert list(await store.unrecorded_episodes(GROUP)) == []
    assert dict(await store.embedding_sizes(GROUP)) == {}


async def test_an_episode_of_graphitis_is_read_as_it_was_written(graph_url: str) -> None:
    await write_legacy_graph(graph_url, [EPISODE], GROUP, written_at=NOW)
    async with opened(graph_url) as store:
        assert list(await store.unrecorded_episodes(GROUP)) == [EXPECTED]
        assert list(await store.unrecorded_episodes(GroupId("other"))) == []


@pytest.mark.parametrize("changes", [history(), long_history()], ids=["whole", "in_chunks"])
async def test_turns_are_not_among_the_unrecorded_episodes(
    graph_url: str, changes: list[Change]
) -> None:
    await write_legacy_graph(graph_url, [EPISODE], GROUP, written_at=NOW)
    async with opened(graph_url) as store:
        await commit_all(store, changes)
        found = await store.unrecorded_episodes(GROUP)
    assert [episode.uuid for episode in found] == ["e-1"]


async def test_groups_without_a_turn_are_among_the_groups_with_episodes(graph_url: str) -> None:
    await write_foreign_data(graph_url, "elsewhere")
    async with opened(graph_url) as store:
        await commit_history(store)
        assert list(await store.episode_groups()) == ["elsewhere", GROUP]
        assert list(await store.groups()) == [GROUP]


async def test_entities_are_counted_by_the_dimensions_of_their_embeddings(graph_url: str) -> None:
    await write_legacy_graph(graph_url, [EPISODE], GROUP, dimensions=OTHER_DIMENSIONS)
    async with opened(graph_url) as store:
        assert dict(await store.embedding_sizes(GROUP)) == {OTHER_DIMENSIONS: 3}
        await commit_history(store)
        expected = {OTHER_DIMENSIONS: 3, PROFILE.dimensions: 3}
        assert dict(await store.embedding_sizes(GROUP)) == expected


async def test_an_episode_that_lacks_everything_is_read_too(graph_url: str) -> None:
    async with opened(graph_url):
        pass
    await plant(graph_url, f"CREATE (:Episodic {{uuid: 'bare', group_id: '{GROUP}'}})")
    async with opened(graph_url) as store:
        [bare] = await store.unrecorded_episodes(GROUP)
    assert bare == UnrecordedEpisode("bare", GROUP, "", "", "", "", None, None, 0, 0)


@pytest.mark.neo4j
async def test_a_time_that_is_a_text_counts_as_missing(neo4j_url: str) -> None:
    later = (START + timedelta(hours=1)).isoformat()
    await plant(
        neo4j_url,
        f"""CREATE (:Episodic {{uuid: 'text', group_id: '{GROUP}', valid_at: '{later}',
        created_at: datetime('{later}')}})""",
    )
    async with opened(neo4j_url) as store:
        [episode] = await store.unrecorded_episodes(GROUP)
    assert (episode.valid_at, episode.created_at) == (None, START + timedelta(hours=1))
