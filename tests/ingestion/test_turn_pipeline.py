"""Every point at which the ingest of a group can stop, on both stores."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import GROUP, START, episode
from tests.ingestion.fakes import WORDS_RECIPE, CrashingStore, PromptExtractor
from turnetl.base.errors import GraphBusy, GraphUnusable, RunStopped
from turnetl.base.graph_model import GroupProfile
from turnetl.base.ids import recipe_digest
from turnetl.base.model import Episode, GroupId
from turnetl.extraction.port import DiscardReason, Resolved
from turnetl.graph.mirror.group import GroupView
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingestion.ingest_report import Invalidation
from turnetl.ingestion.ingest_run import IngestProgress, IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.lake import LocalFiles
from turnetl.llm.embedders.static_model import WordLlamaEmbedder

NOW = START + timedelta(days=1)


@pytest.fixture
def group() -> GroupId:
    return GROUP


def turns(group: GroupId, *prompts: str, session: str = "s1") -> list[Episode]:
    return [
        episode(
            f"{session}-{number}",
            group_id=group,
            session_id=session,
            ordinal=number,
            user_text=prompt,
            started_at=START + timedelta(minutes=number),
        )
        for number, prompt in enumerate(prompts)
    ]


async def ingest_turns(
    store: Any,
    episodes: Iterable[Episode],
    lake: Path,
    *,
    extractor: PromptExtractor | None = None,
    owner: str = "here:1",
    prefetch: int = 3,
    extractor_named: bool = False,
) -> IngestProgress:
    episodes = list(episodes)
    group = episodes[0].turn.group_id
    run = IngestRun(
        "run-1",
        owner,
        lambda: NOW,
        timedelta(seconds=60),
        prefetch,
        extractor_named=extractor_named,
    )
    pipeline = TurnPipeline(
        store,
        extractor or PromptExtractor(),
        WordLlamaEmbedder(),
        Quarantine(LocalFiles(lake), group),
        run,
    )
    earlier = [e.turn_id for e in episodes]
    context = {turn: tuple(earlier[max(0, at - 2) : at]) for at, turn in enumerate(earlier)}
    return await pipeline.ingest(group, episodes, context, lambda _: None)


async def test_turns_are_committed_oldest_first_each_with_its_entities_and_facts(
    store: GraphStore, group: GroupId, tmp_path: Path
) -> None:
    episodes = turns(group, "add a cart", "fix the cart", "test the cart")
    assert await ingest_turns(store, episodes, tmp_path) == IngestProgress(3, 0)
    receipts = await store.receipts(group)
    assert [receipt.turn_id for receipt in receipts] == [e.turn_id for e in episodes]
    assert await store.counts(group) == (3, 4, 3)


async def test_the_context_is_the_turns_before_oldest_first(
    store: GraphStore, group: GroupId, tmp_path: Path
) -> None:
    extractor = PromptExtractor()
    episodes = turns(group, "one", "two", "three", "four")
    await ingest_turns(store, episodes, tmp_path, extractor=extractor)
    ids_ = [e.turn_id for e in episodes]
    assert extractor.contexts[ids_[3]] == ids_[1:3]
    assert extractor.contexts[ids_[0]] == []


async def test_a_turn_that_fails_is_quarantined_with_its_reason_and_the_others_are_committed(
    store: GraphStore, group: GroupId, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "turnetl")
    episodes = turns(group, "fine", "cannot", "surprise", "fine too")
    assert await ingest_turns(store, episodes, tmp_path) == IngestProgress(2, 2)
    reasons = {
        entry.turn_id: entry.error for entry in Quarantine(LocalFiles(tmp_path), group).entries()
    }
    assert reasons[episodes[1].turn_id] == "the model gave no JSON"
    unexpected = reasons[episodes[2].turn_id]
    assert unexpected.startswith("unexpected ZeroDivisionError: nobody thought of that")
    assert "--debug" in unexpected
    assert caplog.text.count("Traceback") == 1
    assert f"unexpected error in turn {episodes[2].turn.archive}:" in caplog.text


async def test_a_turn_without_a_time_is_quarantined_too(
    store: GraphStore, group: GroupId, tmp_path: Path
) -> None:
    first, second, third = turns(group, "one", "two", "three")
    timeless = replace(second, turn=replace(second.turn, started_at=None))
    assert await ingest_turns(store, [first, timeless, third], tmp_path) == IngestProgress(2, 1)
    (entry,) = Quarantine(LocalFiles(tmp_path), group).entries()
    assert entry.turn_id == second.turn_id


async def test_many_consecutive_failures_stop_the_group_and_keep_what_is_committed(
    store: GraphStore, group: GroupId, tmp_path: Path
) -> None:
    episodes = turns(group, "fine", *["cannot"] * 7, "never reached")
    with pytest.raises(RunStopped, match="5 turns in a row failed"):
        await ingest_turns(store, episodes, tmp_path)
    assert len(await store.receipts(group)) == 1


async def test_a_run_killed_before_a_commit_writes_nothing_of_the_turn_and_the_next_run_continues(
    store: GraphStore, group: GroupId, tmp_path: Path
) -> None:
    episodes = turns(group, "one", "two", "three")
    with pytest.raises(KeyboardInterrupt):
        await ingest_turns(CrashingStore(store, before=2), episodes, tmp_path)
    assert await store.counts(group) == (1, 2, 1)
    assert await ingest_turns(store, episodes, tmp_path) == IngestProgress(
        2, 0, already_committed=1
    )
    assert await store.counts(group) == (3, 4, 3)


@pytest.mark.full
async def test_a_connection_that_breaks_after_the_commit_commits_once(
    store: GraphStore, group: GroupId, tmp_path: Path
) -> None:
    episodes = turns(group, "one", "two", "three")
    await ingest_turns(CrashingStore(store, after=2), episodes, tmp_path)
    assert await store.counts(group) == (3, 4, 3)
    contents = await store.load(group)
    assert sorted(fact.text for fact in contents.facts) == ["one", "three", "two"]


async def test_the_lease_is_released_however_a_run_ends(
    store: GraphStore, group: GroupId, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        await ingest_turns(
            CrashingStore(store, before=1), turns(group, "one"), tmp_path, owner="here:1"
        )
    assert await ingest_turns(
        store, turns(group, "one"), tmp_path, owner="elsewhere:2"
    ) == IngestProgress(1, 0)


async def test_a_group_that_another_run_writes_is_rejected_with_the_owner(
    store: GraphStore, group: GroupId, tmp_path: Path
) -> None:
    async with leased(store, group):
        with pytest.raises(GraphBusy, match="elsewhere:2"):
            await ingest_turns(store, turns(group, "one"), tmp_path, owner="here:1")
    assert await ingest_turns(
        store, turns(group, "one"), tmp_path, owner="here:1"
    ) == IngestProgress(1, 0)


class InvalidatingExtractor(PromptExtractor):
    """Invalidates every fact when the prompt contains `forget`; discards something in each turn."""

    async def resolve(
        self, episode: Episode, extracted: str, group: GroupView, *, now: datetime
    ) -> Resolved:
        resolved = await super().resolve(episode, extracted, group, now=now)
        resolved = replace(resolved, discarded={DiscardReason.UUID: 1, DiscardReason.FACTS: 2})
        if "forget" not in extracted:
            return resolved
        invalidated = tuple(replace(f, invalid_at=now, expired_at=now) for f in group.facts)
        return replace(resolved, facts=(*resolved.facts, *invalidated))


async def test_turns_that_invalidate_many_facts_are_reported_and_discards_are_counted(
    store: GraphStore, group: GroupId, tmp_path: Path
) -> None:
    episodes = turns(group, "one", "two", "forget", "three", "four", "five", "forget all")
    run = IngestRun(
        "run-1", "here:1", lambda: NOW, timedelta(seconds=60), prefetch=3, invalidation_alert=2
    )
    pipeline = TurnPipeline(
        store,
        InvalidatingExtractor(),
        WordLlamaEmbedder(),
        Quarantine(LocalFiles(tmp_path), group),
        run,
    )
    context = {episode.turn_id: () for episode in episodes}
    done = await pipeline.ingest(group, episodes, context, lambda _: None)
    # The first "forget" invalidates two facts, which is not more than the alert.
    turn = episodes[6].turn
    assert done.invalidations == (
        Invalidation(turn.turn_id, turn.archive, turn.first_line, facts=4),
    )
    assert done.discarded == {"facts": 14, "uuid": 7}


class SlowEmbedder(WordLlamaEmbedder):
    """Returns its dimensions only after the event loop has continued."""

    def __init__(self) -> None:
        self.continued = threading.Event()

    @property
    def dimensions(self) -> int:
        assert self.continued.wait(10), "the event loop waits for the embedder"
        return super().dimensions


async def test_the_event_loop_continues_while_an_embedder_determines_its_dimensions(
    store: GraphStore, group: GroupId, tmp_path: Path
) -> None:
    embedder = SlowEmbedder()
    run = IngestRun("run-1", "here:1", lambda: NOW, timedelta(seconds=60), prefetch=3)
    pipeline = TurnPipeline(
        store, PromptExtractor(), embedder, Quarantine(LocalFiles(tmp_path), group), run
    )
    [episode] = turns(group, "one")
    task = asyncio.create_task(
        pipeline.ingest(group, [episode], {episode.turn_id: ()}, lambda _: None)
    )
    await asyncio.sleep(0.05)
    embedder.continued.set()
    assert await task == IngestProgress(1, 0)


async def test_extraction_runs_ahead_no_further_than_prefetch_allows(
    store: GraphStore, group: GroupId, tmp_path: Path
) -> None:
    extractor = PromptExtractor()
    with pytest.raises(KeyboardInterrupt):
        await ingest_turns(
            CrashingStore(store, before=1),
            turns(group, *"abcdefgh"),
            tmp_path,
            extractor=extractor,
            prefetch=3,
        )
    assert len(extractor.extracted) <= 3


@pytest.mark.full
async def test_the_same_turns_make_the_same_graph_for_any_prefetch(
    store: GraphStore, group: GroupId, tmp_path: Path
) -> None:
    other = await open_graph(f"ladybug://{tmp_path / 'other.lbug'}", user="", password="")
    await other.prepare()
    for into, prefetch in ((store, 1), (other, 8)):
        assert await ingest_turns(
            into, turns(group, *"abcde"), tmp_path, prefetch=prefetch
        ) == IngestProgress(5, 0)
    serial, wide = await store.load(group), await other.load(group)
    await other.close()
    assert len(serial.facts) == len(serial.receipts) == 5
    assert wide == serial


@asynccontextmanager
async def leased(store: GraphStore, group: GroupId) -> AsyncIterator[None]:
    embedder = WordLlamaEmbedder()
    lease = await store.acquire(
        group,
        GroupProfile(embedder.name, embedder.dimensions, recipe_digest(WORDS_RECIPE)),
        owner="elsewhere:2",
        now=NOW,
        ttl=timedelta(seconds=60),
        is_dead=lambda _: False,
    )
    yield
    await store.release(lease)


class OtherExtractor(PromptExtractor):
    @property
    def name(self) -> str:
        return "sentences"


async def test_a_group_that_another_extractor_filled_meanwhile_is_continued_only_if_it_is_named(
    store: GraphStore, group: GroupId, tmp_path: Path
) -> None:
    first, second = turns(group, "add a cart", "fix the cart")
    await ingest_turns(store, [first], tmp_path)
    other = OtherExtractor()
    with pytest.raises(GraphUnusable, match="was filled with the extractor `words`"):
        await ingest_turns(store, [first, second], tmp_path, extractor=other)
    assert other.extracted == []
    await ingest_turns(store, [first, second], tmp_path, extractor=other, extractor_named=True)
    receipts = await store.receipts(group)
    assert [receipt.extractor for receipt in receipts] == ["words", "sentences"]
    with pytest.raises(GraphUnusable, match="was filled with the extractor `sentences`"):
        await ingest_turns(store, turns(group, "one", session="s2"), tmp_path)
