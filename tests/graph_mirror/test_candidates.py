"""A group loaded from the graph decides like the group that grew in memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from tests.builders import GROUP, START
from tests.extraction import long_sample_turns
from tests.extraction.fixed_prompt import fixed_prompt
from tests.real_archives import SAMPLES
from tests.servers import order_sensitive_responses
from tests.servers.provider import FakeProvider
from turnetl.base.errors import GraphBusy
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Episode, Fact
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.port import Resolved
from turnetl.graph.mirror.group import GroupView, MirrorGroup
from turnetl.graph.mirror.overlay import CandidateIndex
from turnetl.graph.port import GraphStore
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import floats
from turnetl.llm.embedders.static_model import WordLlamaEmbedder

pytestmark = pytest.mark.full

TURNS = 32
COMPARED_TURNS = 8
FAILING_COMMITS = 5


@dataclass
class ComparingExtractor(long_sample_turns.RecordingExtractor):
    """Loads the group every `COMPARED_TURNS` turns, and compares it with the one in memory."""

    store: GraphStore | None = None
    compared: list[int] = field(default_factory=list)
    """Number of facts at each comparison."""
    _turns: int = 0

    async def resolve(
        self, episode: Episode, extracted: Any, group: GroupView, *, now: datetime
    ) -> Resolved:
        self._turns += 1
        resolved = await super().resolve(episode, extracted, group, now=now)
        if self._turns % COMPARED_TURNS == 0 and self.store is not None:
            assert isinstance(group, MirrorGroup)
            loaded = MirrorGroup(await self.store.load(GROUP))
            assert_same(loaded, group, episode)
            repeated = await super().resolve(episode, extracted, loaded, now=now)
            assert replace(repeated, usage=resolved.usage) == resolved
            self.compared.append(len(list(group.facts)))
        return resolved


class FailingStore:
    """A store whose every fifth commit fails, alternately before and after it is written."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._commits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, *arguments: Any, **named: Any) -> bool:
        self._commits += 1
        if self._commits % (2 * FAILING_COMMITS) == 0:
            raise GraphBusy("no answer, and nothing was written")
        written: bool = await self._store.commit(*arguments, **named)
        if self._commits % FAILING_COMMITS == 0:
            raise GraphBusy("the connection broke after the commit")
        return written


@pytest.fixture
def turns(tmp_path: Path) -> list[Episode]:
    return long_sample_turns.turns(SAMPLES, tmp_path / "lake", TURNS)


async def test_a_loaded_group_decides_like_the_group_in_memory(
    store: GraphStore, model: ChatModel, turns: list[Episode], tmp_path: Path
) -> None:
    """Even if some commits fail and are retried."""
    asks = ComparingExtractor(extractor(model), store=store)
    contents = await ingest_turns(FailingStore(store), asks, turns, tmp_path)
    assert len(asks.compared) == TURNS // COMPARED_TURNS
    assert asks.compared == sorted(set(asks.compared))
    assert any(fact.invalid_at for fact in contents.facts)


async def test_failed_commits_and_a_second_run_make_no_difference(
    store: GraphStore, model: ChatModel, turns: list[Episode], tmp_path: Path
) -> None:
    half = TURNS // 2
    await ingest_turns(FailingStore(store), extractor(model), turns[:half], tmp_path)
    in_two_runs = await ingest_turns(
        FailingStore(store), extractor(model), turns, tmp_path, start=half
    )
    async with long_sample_turns.open_store(f"ladybug://{tmp_path / 'other.lbug'}") as other:
        in_one_run = await ingest_turns(other, extractor(model), turns, tmp_path)
    assert without_times(in_two_runs) == without_times(in_one_run)


def assert_same(one: MirrorGroup, other: MirrorGroup, turn: Episode) -> None:
    """Assert that both hold the same, in the same order, and return the same candidates."""
    assert list(one.entities) == list(other.entities)
    assert list(one.facts) == list(other.facts)
    relations = {(fact.source, fact.relation) for fact in one.facts}
    for relation in sorted(relations):
        assert one.valid_facts(*relation) == other.valid_facts(*relation)
    assert one.neighbours(turn) == other.neighbours(turn)
    assert list(candidates_of(one)) == list(candidates_of(other))


def candidates_of(group: MirrorGroup) -> Iterator[list[Entity] | list[Fact]]:
    """Yield the candidates of each entity and each fact."""
    candidates = CandidateIndex(group)
    candidates.refresh()
    for entity in group.entities:
        assert entity.embedding is not None
        yield from candidates.entities_near([floats(entity.embedding)], 15, 0.6)
    for fact in group.facts:
        assert fact.embedding is not None
        vector = floats(fact.embedding)
        yield from candidates.facts_near([vector], 20, 0.6)
        pair = frozenset((fact.source, fact.target))
        yield candidates.facts_near_between(pair, vector, 20, 0.6)
        yield candidates.facts_matching(fact.text, 20)


def without_times(contents: GroupContents) -> tuple[list[Entity], list[Fact]]:
    """Return entities and facts without the times of writing, by uuid."""
    entities = [replace(entity, created_at=START) for entity in contents.entities]
    facts = [
        replace(fact, created_at=START, expired_at=fact.expired_at and START)
        for fact in contents.facts
    ]
    key = attrgetter("uuid")
    return sorted(entities, key=key), sorted(facts, key=key)


async def ingest_turns(
    store: Any, asks: Any, turns: Sequence[Episode], folder: Path, *, start: int = 0
) -> GroupContents:
    embedder = WordLlamaEmbedder()
    return await long_sample_turns.ingest(
        store, asks, embedder, turns, folder / "aside", start=start
    )


def extractor(model: ChatModel) -> LlmExtractor:
    return LlmExtractor(model, WordLlamaEmbedder(), prompts=fixed_prompt(None))


@pytest.fixture(autouse=True)
def order_sensitive_provider(provider: FakeProvider) -> None:
    provider.responders = order_sensitive_responses.RESPONDERS
