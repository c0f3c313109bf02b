"""The report of a group counts every turn once, for any outcome."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests import frames
from tests.builders import GROUP, START, turn
from tests.ingestion.fakes import WORDS_RECIPE, CrashingStore, PromptExtractor
from tests.ingestion.runs import ingest, status
from turnetl import noise
from turnetl.base.errors import GraphBusy
from turnetl.base.ids import RecipePart
from turnetl.base.model import Turn, TurnId
from turnetl.episodes import Filters
from turnetl.graph.port import GraphStore
from turnetl.ingestion.group import IngestResources
from turnetl.ingestion.ingest_report import GroupReport
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.plan import Scope
from turnetl.ingestion.quarantine import Quarantine, QuarantineEntry
from turnetl.ingestion.reasons import StalePart
from turnetl.lake import Lake
from turnetl.llm.embedders.static_model import WordLlamaEmbedder

NOW = START + timedelta(days=1)
RUN = IngestRun("run-1", "here:1", lambda: NOW, timedelta(seconds=60), prefetch=3, retry_delay=0.01)
SCOPE = Scope(now=NOW)


class RepairedExtractor(PromptExtractor):
    """Extracts from the prompts that `PromptExtractor` fails for."""

    async def extract(self, episode: Any, context: Any) -> str:
        await super().extract(replace(episode, turn=replace(episode.turn, user_text="x")), context)
        return str(episode.turn.user_text)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Five turns: extraction of the second fails."""
    new = Lake(tmp_path / "lake")
    prompts = ("add a cart", "cannot be read", "fix the cart", "test the cart", "ship the cart")
    turns = [
        turn(f"p{at}", user_text=prompt, started_at=START + timedelta(minutes=at), ordinal=at)
        for at, prompt in enumerate(prompts)
    ]
    new.write_episodes(GROUP, [episode_rows(*turns)], dict)
    return new


def episode_rows(*turns: Turn) -> pl.DataFrame:
    return frames.episode_table(frames.turns(*turns))


def resources(lake: Lake, store: Any, extractor: PromptExtractor | None = None) -> IngestResources:
    return IngestResources(lake, store, extractor or PromptExtractor(), WordLlamaEmbedder())


async def ingest_lake(given: IngestResources, scope: Scope = SCOPE) -> GroupReport:
    return await ingest(GROUP, given, scope, RUN)


def total(report: GroupReport) -> int:
    return (
        report.in_graph + report.quarantined + report.pending + sum((report.noise or {}).values())
    )


async def test_a_turn_that_fails_is_reported_as_quarantined_with_its_reason(
    store: GraphStore, lake: Lake
) -> None:
    report = await ingest_lake(resources(lake, store))
    assert (report.committed, report.quarantined, total(report)) == (4, 1, report.turns)
    assert [entry.error for entry in report.quarantined_turns] == ["the model gave no JSON"]
    current = await status(GROUP, lake, store, SCOPE, recipe=WORDS_RECIPE)
    assert (current.in_graph, current.uncommitted_reasons) == (4, {"quarantined": 1})
    assert current.quarantined_turns == report.quarantined_turns


@pytest.mark.full
async def test_committed_turns_that_a_new_filter_changes_are_stale_and_stay_unchanged(
    store: GraphStore, lake: Lake
) -> None:
    responses = ("Done.", "The cart was empty.", "Nothing to do.")
    turns = [
        turn(f"p{at}", user_text=f"do {at}", assistant_text=response, started_at=START, ordinal=at)
        for at, response in enumerate(responses)
    ]
    lake.write_episodes(GROUP, [episode_rows(*turns)], dict)
    assert (await ingest_lake(resources(lake, store))).stale == 0
    before = (await store.load(GROUP)).texts
    third = noise.NoiseRule("third", 1, "For this test.", pl.col("user_text") == "do 2")
    stricter = Filters(rules=(third,), patterns=("The cart was",))
    lake.write_episodes(GROUP, [frames.episode_table(frames.turns(*turns), stricter)], dict)
    report = await ingest_lake(resources(lake, store))
    assert report.stale_reasons == {"noise": 1, "text_changed": 1}
    assert (report.stale, report.committed, report.already_committed) == (2, 0, 3)
    assert (await status(GROUP, lake, store, SCOPE, recipe=WORDS_RECIPE)).stale == 2
    assert (await store.load(GROUP)).texts == before


async def test_the_status_names_the_part_of_the_recipe_that_changed_since_the_commit(
    store: GraphStore, lake: Lake
) -> None:
    await ingest_lake(resources(lake, store))
    receipts = await store.receipts(GROUP)
    recorded = await store.recipes({receipt.recipe for receipt in receipts})
    assert list(recorded.values()) == [WORDS_RECIPE]
    now = {"words": RecipePart("2")}
    report = await status(GROUP, lake, store, SCOPE, recipe=now)
    assert report.stale_reasons == {"recipe_changed": 4}
    assert report.stale_parts == (StalePart("words", WORDS_RECIPE["words"], now["words"], 4),)


async def test_a_quarantined_turn_is_attempted_again_only_by_a_retry(
    store: GraphStore, lake: Lake
) -> None:
    await ingest_lake(resources(lake, store))
    repaired = RepairedExtractor()
    assert (await ingest_lake(resources(lake, store, repaired))).committed == 0
    assert repaired.extracted == []
    report = await ingest_lake(resources(lake, store, repaired), replace(SCOPE, retry=True))
    assert (report.committed, report.quarantined, report.in_graph) == (1, 0, 5)
    assert report.quarantined_turns == ()


async def test_a_retry_that_fails_keeps_the_quarantine_entries(
    store: GraphStore, lake: Lake
) -> None:
    await ingest_lake(resources(lake, store))
    down = CrashingStore(store, before=1, error=GraphBusy("the graph is gone"))
    report = await ingest_lake(
        resources(lake, down, RepairedExtractor()), replace(SCOPE, retry=True)
    )
    assert (report.committed, report.error, report.retryable) == (0, "the graph is gone", True)
    assert len(Quarantine(lake.files, GROUP).turns()) == 1


async def test_a_graph_that_stops_responding_leaves_a_report_of_what_was_committed(
    store: GraphStore, lake: Lake
) -> None:
    failing = CrashingStore(store, before=3, error=GraphBusy("the graph is gone"))
    report = await ingest_lake(resources(lake, failing))
    assert (report.committed, report.error) == (2, "the graph is gone")
    assert total(report) == report.turns
    assert report.exit_code == 1


async def test_a_graph_that_does_not_answer_leaves_every_turn_pending(lake: Lake) -> None:
    class Unresponsive:
        async def receipts(self, _group: str) -> None:
            raise GraphBusy("no answer")

    report = await ingest_lake(resources(lake, Unresponsive()))
    assert (report.turns, report.pending, report.error) == (5, 5, "no answer")


async def test_turns_that_another_run_committed_after_planning_are_skipped_not_extracted_again(
    store: GraphStore, lake: Lake
) -> None:
    class Overtaken(CrashingStore):
        """Another run completes the group just before this one takes the lease."""

        async def acquire(self, *arguments: Any, **named: Any) -> Any:
            await ingest_lake(resources(lake, store))
            return await store.acquire(*arguments, **named)

    extractor = PromptExtractor()
    report = await ingest_lake(resources(lake, Overtaken(store), extractor))
    assert (report.committed, report.already_committed, report.quarantined, report.pending) == (
        0,
        4,
        1,
        0,
    )
    # Only the turn that failed in both runs is extracted: the others would be paid for twice.
    assert len(extractor.extracted) == 1


async def test_a_quarantine_file_that_a_crash_left_empty_is_ignored(
    store: GraphStore, lake: Lake
) -> None:
    quarantine = Quarantine(lake.files, GROUP)
    quarantine.add(QuarantineEntry(TurnId("t1"), "no JSON", "a.jsonl", 1, "run-0", NOW))
    (lake.root / "quarantine" / GROUP / "t2.json").write_bytes(b"")
    assert [entry.turn_id for entry in quarantine.entries()] == ["t1"]
    assert (await ingest_lake(resources(lake, store))).committed == 4


async def test_a_renewal_that_fails_does_not_fail_the_run(store: GraphStore, lake: Lake) -> None:
    failed = asyncio.Event()

    class Unrenewable(CrashingStore):
        async def renew(self, *_arguments: Any, **_named: Any) -> None:
            failed.set()
            raise GraphBusy("not now")

        async def commit(self, *arguments: Any, **named: Any) -> bool:
            await failed.wait()
            return await super().commit(*arguments, **named)

    run = replace(RUN, lease_ttl=timedelta(seconds=0.06))
    report = await ingest(GROUP, resources(lake, Unrenewable(store)), SCOPE, run)
    assert (report.committed, report.error) == (4, None)
    assert (await ingest_lake(resources(lake, store))).error is None


async def test_a_limited_retry_still_reports_the_other_quarantined_turns(
    store: GraphStore, lake: Lake
) -> None:
    turns = [
        turn(f"q{at}", user_text=f"cannot {at}", started_at=START + timedelta(hours=at), ordinal=at)
        for at in range(1, 4)
    ]
    lake.write_episodes(GROUP, [episode_rows(*turns)], dict)
    await ingest_lake(resources(lake, store))
    report = await ingest_lake(
        resources(lake, store, RepairedExtractor()), replace(SCOPE, retry=True, limit=1)
    )
    assert (report.committed, report.quarantined, report.pending) == (1, 2, 0)
    assert len(report.quarantined_turns) == 2


async def test_a_quarantine_entry_of_a_committed_turn_is_not_reported(
    store: GraphStore, lake: Lake
) -> None:
    await ingest_lake(resources(lake, store))
    (committed, *_) = await store.receipts(GROUP)
    entry = QuarantineEntry(committed.turn_id, "no JSON", "a.jsonl", 1, "run-0", NOW)
    Quarantine(lake.files, GROUP).add(entry)
    report = await status(GROUP, lake, store, SCOPE, recipe=WORDS_RECIPE)
    assert report.quarantined == len(report.quarantined_turns) == 1
    assert entry not in report.quarantined_turns
