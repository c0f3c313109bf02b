"""The index of session-level episodes follows the graph and embeds only what changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import GROUP, START
from turnetl.base.graph_model import CommittedTurn, Mention
from turnetl.base.ids import sessions_group
from turnetl.base.model import Entity, Fact, GroupId, SessionId, TurnId
from turnetl.graph.session_level import SessionLevelData, UnrecordedEpisode
from turnetl.index.conditions import Selection
from turnetl.index.session_index import SessionIndex
from turnetl.llm.embedders.static_model import WordLlamaEmbedder

EMBEDDER = WordLlamaEmbedder()
CART = Entity("e1", GROUP, "cart.py", ("File",), "", START)
TAX = Entity("e2", GROUP, "tax.py", ("File",), "", START)


class LoadedSessions:
    """`SessionLevelGraph` over data in memory."""

    def __init__(self, *groups: SessionLevelData) -> None:
        self._groups = {group.group_id: group for group in groups}

    async def session_level_groups(self) -> Sequence[GroupId]:
        return sorted(self._groups)

    async def session_level(self, group: GroupId, *, vectors: bool) -> SessionLevelData:
        assert not vectors
        return self._groups[group]

    async def pause(self) -> None:
        pass


def episode(name: str, text: str = "The cart was fixed.") -> UnrecordedEpisode:
    return UnrecordedEpisode(name, GROUP, name, text, "text", "summary", START, START, 1, 1)


def fact(uuid: str, *episodes: str) -> Fact:
    turns = tuple(map(TurnId, episodes))
    return Fact(uuid, GROUP, "e1", "e2", "USES", f"cart.py uses {uuid}", turns, START, START)


def data(
    episodes: Sequence[UnrecordedEpisode], facts: Sequence[Fact] = (), group: GroupId = GROUP
) -> SessionLevelData:
    mentions = tuple(Mention(one.uuid, "e1") for one in episodes)
    held = tuple(replace(one, group_id=group) for one in episodes)
    return SessionLevelData(group, held, (CART, TAX), tuple(facts), mentions, frozenset())


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SessionIndex]:
    opened = SessionIndex(tmp_path / "lake" / "sessions", EMBEDDER.name, EMBEDDER.dimensions)
    yield opened
    opened.close()


async def follow(
    index: SessionIndex, *groups: SessionLevelData, names: Mapping[str, str] = {}
) -> list[str]:
    """Bring the index up to date; return the episodes that were embedded."""
    embedded: list[CommittedTurn] = []

    def names_of(episodes: Sequence[UnrecordedEpisode]) -> dict[str, SessionId]:
        return {one.uuid: SessionId(names[one.uuid]) for one in episodes if one.uuid in names}

    await index.follow(LoadedSessions(*groups), EMBEDDER, names_of, embedded.extend)
    return [one.receipt.turn_id for one in embedded]


def held(index: SessionIndex) -> dict[str, tuple[str, list[str]]]:
    """Return the session and the facts of each episode."""
    keys = index.select(Selection()).tolist()
    facts = index.facts(keys)
    return {
        one.receipt.turn_id: (
            one.receipt.session_id,
            sorted(indexed.fact.uuid for indexed in facts[key]),
        )
        for key, one in index.turns(keys).items()
    }


async def test_episodes_are_held_with_their_facts_and_the_session_that_they_name(
    index: SessionIndex,
) -> None:
    facts = [fact("f1", "a"), fact("f2", "a", "b")]
    await follow(index, data([episode("a"), episode("b")], facts), names={"a": "s1"})
    assert held(index) == {"a": ("s1", ["f1", "f2"]), "b": ("", ["f2"])}


async def test_only_what_changed_is_embedded_again(index: SessionIndex) -> None:
    first = data([episode("a"), episode("b")], [fact("f1", "a")])
    assert await follow(index, first) == ["a", "b"]
    assert await follow(index, first) == []
    assert await follow(index, data([episode("a"), episode("b"), episode("c")])) == ["a", "c"]
    assert held(index)["a"] == ("", [])
    changed = data([episode("a", "Another text"), episode("b"), episode("c")])
    assert await follow(index, changed) == ["a"]
    assert await follow(index, changed, names={"b": "s1"}) == ["b"]


async def test_what_is_gone_from_the_graph_is_gone_from_the_index(index: SessionIndex) -> None:
    other = data([episode("o")], group=GroupId("other"))
    await follow(index, data([episode("a"), episode("b")], [fact("f1", "a")]), other)
    await follow(index, data([episode("b")]), other)
    assert sorted(held(index)) == ["b", "o"]
    await follow(index, other)
    assert sorted(held(index)) == ["o"]
    assert [group.group_id for group in index.groups()] == ["other"]


async def test_a_fact_that_was_invalidated_is_read_again(index: SessionIndex) -> None:
    one = fact("f1", "a")
    await follow(index, data([episode("a")], [one]))
    later = replace(one, invalid_at=START.replace(year=START.year + 1))
    assert await follow(index, data([episode("a")], [later])) == ["a"]
    [key] = index.select(Selection()).tolist()
    [indexed] = index.facts([key])[key]
    assert indexed.fact.invalid_at == later.invalid_at


async def test_the_shadow_groups_of_migrations_are_not_read(index: SessionIndex) -> None:
    old = sessions_group(GROUP, "0" * 8)
    await follow(index, data([episode("a")]), data([episode("old")], group=old))
    assert sorted(held(index)) == ["a"]
