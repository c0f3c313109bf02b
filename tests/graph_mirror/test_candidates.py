"""A group that is loaded again is the group that grew: all that decides is the same in both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from tests.builders import GROUP, START
from tests.extraction import long_sample_turns
from tests.real import SAMPLES
from tests.servers import order_sensitive_responses
from tests.servers.provider import FakeProvider
from turnetl.errors import GraphBusy
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.port import Resolved
from turnetl.extraction.prompt_config import fixed_prompt
from turnetl.graph.mirror.candidates import CandidateIndex
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.port import GraphStore
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.llm.vectors import floats
from turnetl.model import Entity, Episode, Fact, GroupContents

TURNS = 32
EVERY = 8
FAILING = 5


@dataclass
class Comparing(long_sample_turns.RecordingExtractor):
    """Before every so many turns it loads the group, and compares it with the one that grew."""

    store: GraphStore | None = None
    compared: list[int] = field(default_factory=list)
    """Facts of the group each time."""
    _turns: int = 0

    async def resolve(
        self, episode: Episode, extracted: Any, group: MirrorGroup, *, now: datetime
    ) -> Resolved:
        self._turns += 1
        resolved = await super().resolve(episode, extracted, group, now=now)
        if self._turns % EVERY == 0 and self.store is not None:
            loaded = MirrorGroup(await self.store.load(GROUP))
            assert_same(loaded, group, episode)
            again = await super().resolve(episode, extracted, loaded, now=now)
            assert replace(again, usage=resolved.usage) == resolved
            self.compared.append(len(list(group.facts)))
        return resolved


class Failing:
    """A store whose every fifth commit fails, in turn before and after it is written."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._commits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, *values: Any, **named: Any) -> bool:
        self._commits += 1
        if self._commits % (2 * FAILING) == 0:
            raise GraphBusy("no answer, and nothing was written")
        written: bool = await self._store.commit(*values, **named)
        if self._commits % FAILING == 0:
            raise GraphBusy("the connection broke after the commit")
        return written


@pytest.fixture
def turns(tmp_path: Path) -> list[Episode]:
    return long_sample_turns.turns(SAMPLES, tmp_path / "lake", TURNS)


async def test_a_group_loaded_again_decides_as_the_one_that_grew(
    store: GraphStore, model: ChatModel, turns: list[Episode], tmp_path: Path
) -> None:
    """Also where a commit fails now and then and is done again."""
    asks = Comparing(extractor(model), store=store)
    contents = await ingested(Failing(store), asks, turns, tmp_path)
    assert len(asks.compared) == TURNS // EVERY
    assert asks.compared == sorted(set(asks.compared))
    assert any(fact.invalid_at for fact in contents.facts)


async def test_commits_that_fail_and_runs_that_end_leave_no_trace(
    store: GraphStore, model: ChatModel, turns: list[Episode], tmp_path: Path
) -> None:
    half = TURNS // 2
    await ingested(Failing(store), extractor(model), turns[:half], tmp_path)
    anew = await ingested(Failing(store), extractor(model), turns, tmp_path, start=half)
    async with long_sample_turns.open_store(f"ladybug://{tmp_path / 'other.lbug'}") as other:
        at_once = await ingested(other, extractor(model), turns, tmp_path)
    assert timeless(anew) == timeless(at_once)


def assert_same(one: MirrorGroup, other: MirrorGroup, turn: Episode) -> None:
    """See that both hold the same, in the same order, and answer the same."""
    assert list(one.entities) == list(other.entities)
    assert list(one.facts) == list(other.facts)
    kinds = {(fact.source, fact.name) for fact in one.facts}
    for kind in sorted(kinds):
        assert one.valid_facts(*kind) == other.valid_facts(*kind)
    assert one.neighbours(turn) == other.neighbours(turn)
    assert list(answers_of(one)) == list(answers_of(other))


def answers_of(group: MirrorGroup) -> Iterator[list[Entity] | list[Fact]]:
    """Yield what the searches of Graphiti find for each thing and each fact."""
    candidates = CandidateIndex(group)
    candidates.refresh()
    for thing in group.entities:
        assert thing.embedding is not None
        yield candidates.entities_near(floats(thing.embedding), 15, 0.6)
    for fact in group.facts:
        assert fact.embedding is not None
        vector = floats(fact.embedding)
        yield candidates.facts_near(vector, 20, 0.6)
        pair = frozenset((fact.source, fact.target))
        yield candidates.facts_near_between(pair, vector, 20, 0.6)
        yield candidates.facts_matching(fact.text, 20)


def timeless(contents: GroupContents) -> tuple[list[Entity], list[Fact]]:
    """Return the things and facts without the times of writing, by key."""
    entities = [replace(one, created_at=START) for one in contents.entities]
    facts = [
        replace(one, created_at=START, expired_at=one.expired_at and START)
        for one in contents.facts
    ]
    key = attrgetter("uuid")
    return sorted(entities, key=key), sorted(facts, key=key)


async def ingested(
    store: Any, asks: Any, turns: Sequence[Episode], folder: Path, *, start: int = 0
) -> GroupContents:
    embedder = WordLlamaEmbedder()
    return await long_sample_turns.ingest(
        store, asks, embedder, turns, folder / "aside", start=start
    )


def extractor(model: ChatModel) -> LlmExtractor:
    return LlmExtractor(model, WordLlamaEmbedder(), prompts=fixed_prompt(None))


@pytest.fixture(autouse=True)
def touchy_provider(provider: FakeProvider) -> None:
    provider.responders = order_sensitive_responses.RESPONDERS
