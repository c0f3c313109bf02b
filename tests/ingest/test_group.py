"""A group's account: every turn once, whatever happens."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests import frames
from tests.builders import GROUP, START, turn
from tests.ingest.fakes import CrashingStore, PromptExtractor
from tests.ingest.runs import ingest, status
from turnetl import noise
from turnetl.episodes import Filters, episode_table
from turnetl.errors import GraphBusy
from turnetl.graph.port import GraphStore
from turnetl.ingest.group import IngestResources
from turnetl.ingest.plan import Scope
from turnetl.ingest.quarantine import Quarantine, QuarantineEntry
from turnetl.ingest.report import GroupReport
from turnetl.ingest.turn_pipeline import IngestRun
from turnetl.lake import Lake
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.model import Turn

NOW = START + timedelta(days=1)
RUN = IngestRun("run-1", "here:1", lambda: NOW, timedelta(seconds=60), prefetch=3, retry_delay=0.01)
SCOPE = Scope(now=NOW)


class Mended(PromptExtractor):
    """Can read what `PromptExtractor` cannot."""

    async def extract(self, episode: Any, context: Any) -> str:
        await super().extract(replace(episode, turn=replace(episode.turn, user_text="x")), context)
        return str(episode.turn.user_text)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Five turns: the second cannot be read."""
    kept = Lake(tmp_path / "lake")
    prompts = ("add a cart", "cannot be read", "fix the cart", "test the cart", "ship the cart")
    turns = [
        turn(f"p{at}", user_text=prompt, started_at=START + timedelta(minutes=at), ordinal=at)
        for at, prompt in enumerate(prompts)
    ]
    kept.write_episodes(GROUP, [table(*turns)], dict)
    return kept


def table(*turns: Turn) -> pl.DataFrame:
    return episode_table(frames.turns(*turns))


def tools(lake: Lake, store: Any, extractor: PromptExtractor | None = None) -> IngestResources:
    return IngestResources(lake, store, extractor or PromptExtractor(), WordLlamaEmbedder())


async def ingested(used: IngestResources, scope: Scope = SCOPE) -> GroupReport:
    return await ingest(GROUP, used, scope, RUN)


def total(of: GroupReport) -> int:
    return of.in_graph + of.quarantined + of.pending + sum((of.noise or {}).values())


async def test_a_turn_that_cannot_be_read_stands_in_the_account_with_its_reason(
    store: GraphStore, lake: Lake
) -> None:
    report = await ingested(tools(lake, store))
    assert (report.committed, report.quarantined, total(report)) == (4, 1, report.turns)
    assert [entry.reason for entry in report.quarantined_turns] == ["the model gave no JSON"]
    stands = await status(GROUP, lake, store, SCOPE, recipe="words-1")
    assert (stands.in_graph, stands.uncommitted_reasons) == (4, {"quarantined": 1})
    assert stands.quarantined_turns == report.quarantined_turns


async def test_committed_turns_are_stale_where_a_new_filter_changes_them_and_stay_as_they_are(
    store: GraphStore, lake: Lake
) -> None:
    told = ("Done.", "The cart was empty.", "Nothing to do.")
    turns = [
        turn(f"p{at}", user_text=f"do {at}", assistant_text=said, started_at=START, ordinal=at)
        for at, said in enumerate(told)
    ]
    lake.write_episodes(GROUP, [table(*turns)], dict)
    assert (await ingested(tools(lake, store))).stale == 0
    before = (await store.load(GROUP)).texts
    speaks_against = noise.NoiseRule("third", 1, "For this test.", pl.col("user_text") == "do 2")
    stricter = Filters(rules=(speaks_against,), patterns=("The cart was",))
    lake.write_episodes(GROUP, [episode_table(frames.turns(*turns), stricter)], dict)
    report = await ingested(tools(lake, store))
    assert report.stale_reasons == {"noise": 1, "text_changed": 1}
    assert (report.stale, report.committed, report.skipped) == (2, 0, 3)
    assert (await status(GROUP, lake, store, SCOPE, recipe="words-1")).stale == 2
    assert (await store.load(GROUP)).texts == before


async def test_a_turn_that_was_set_aside_is_left_alone_until_a_person_says_retry(
    store: GraphStore, lake: Lake
) -> None:
    await ingested(tools(lake, store))
    mended = Mended()
    assert (await ingested(tools(lake, store, mended))).committed == 0
    assert mended.extracted == []
    report = await ingested(tools(lake, store, mended), replace(SCOPE, retry=True))
    assert (report.committed, report.quarantined, report.in_graph) == (1, 0, 5)
    assert report.quarantined_turns == ()


async def test_a_retry_that_comes_to_nothing_forgets_no_reason(
    store: GraphStore, lake: Lake
) -> None:
    await ingested(tools(lake, store))
    down = CrashingStore(store, before=1, dies=GraphBusy("the graph is gone"))
    report = await ingested(tools(lake, down, Mended()), replace(SCOPE, retry=True))
    assert (report.committed, report.error, report.retryable) == (0, "the graph is gone", True)
    assert len(Quarantine(lake.root, GROUP).turns()) == 1


async def test_a_graph_that_goes_away_leaves_an_account_of_what_was_done(
    store: GraphStore, lake: Lake
) -> None:
    gone = CrashingStore(store, before=3, dies=GraphBusy("the graph is gone"))
    report = await ingested(tools(lake, gone))
    assert (report.committed, report.error) == (2, "the graph is gone")
    assert total(report) == report.turns
    assert report.exit_code == 1


async def test_a_graph_that_says_nothing_leaves_every_turn_pending(lake: Lake) -> None:
    class Silent:
        async def receipts(self, _group: str) -> None:
            raise GraphBusy("no answer")

    report = await ingested(tools(lake, Silent()))
    assert (report.turns, report.pending, report.error) == (5, 5, "no answer")


async def test_what_another_run_committed_meanwhile_is_not_counted_as_ours(
    store: GraphStore, lake: Lake
) -> None:
    class Overtaken(CrashingStore):
        """Another run is through with the group just before ours takes it."""

        async def acquire(self, *values: Any, **named: Any) -> Any:
            await ingested(tools(lake, store))
            return await super().acquire(*values, **named)

    ours = PromptExtractor()
    report = await ingested(tools(lake, Overtaken(store), ours))
    assert (report.committed, report.skipped, report.quarantined, report.pending) == (0, 4, 1, 0)
    # Only the turn that failed there too is attempted: the others would be paid for twice.
    assert len(ours.extracted) == 1


async def test_a_quarantine_file_that_a_dying_machine_left_empty_is_no_obstacle(
    store: GraphStore, lake: Lake
) -> None:
    quarantine = Quarantine(lake.root, GROUP)
    quarantine.add(QuarantineEntry("t1", "no JSON", "a.jsonl", 1, "run-0", NOW))
    (lake.root / "quarantine" / GROUP / "t2.json").write_bytes(b"")
    assert [entry.turn_id for entry in quarantine.entries()] == ["t1"]
    assert (await ingested(tools(lake, store))).committed == 4


async def test_a_renewal_that_fails_does_not_fail_the_run(store: GraphStore, lake: Lake) -> None:
    failed = asyncio.Event()

    class Unrenewable(CrashingStore):
        async def renew(self, *_values: Any, **_named: Any) -> None:
            failed.set()
            raise GraphBusy("not now")

        async def commit(self, *values: Any, **named: Any) -> bool:
            await failed.wait()
            return await super().commit(*values, **named)

    run = replace(RUN, lease_ttl=timedelta(seconds=0.06))
    report = await ingest(GROUP, tools(lake, Unrenewable(store)), SCOPE, run)
    assert (report.committed, report.error) == (4, None)
    assert (await ingested(tools(lake, store))).error is None


async def test_a_retry_that_is_limited_leaves_the_others_in_the_account(
    store: GraphStore, lake: Lake
) -> None:
    turns = [
        turn(f"q{at}", user_text=f"cannot {at}", started_at=START + timedelta(hours=at), ordinal=at)
        for at in range(1, 4)
    ]
    lake.write_episodes(GROUP, [table(*turns)], dict)
    await ingested(tools(lake, store))
    report = await ingested(tools(lake, store, Mended()), replace(SCOPE, retry=True, limit=1))
    assert (report.committed, report.quarantined, report.pending) == (1, 2, 0)
    assert len(report.quarantined_turns) == 2


async def test_an_entry_of_a_turn_that_was_committed_elsewhere_is_not_told_of(
    store: GraphStore, lake: Lake
) -> None:
    await ingested(tools(lake, store))
    (committed, *_) = await store.receipts(GROUP)
    entry = QuarantineEntry(committed.turn_id, "no JSON", "a.jsonl", 1, "run-0", NOW)
    Quarantine(lake.root, GROUP).add(entry)
    report = await status(GROUP, lake, store, SCOPE, recipe="words-1")
    assert report.quarantined == len(report.quarantined_turns) == 1
    assert entry not in report.quarantined_turns
