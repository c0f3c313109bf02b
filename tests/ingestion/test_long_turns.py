"""A turn in chunks, from the episodes table to the graph: committed completely or not at all."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import frames
from tests.builders import GROUP, START, receipt, turn
from tests.graph.sample_changes import entity
from tests.ingestion.fakes import CrashingStore, PromptExtractor
from tests.ingestion.runs import ingest
from tests.retrieval.searching import search_groups
from turnetl.base.graph_model import GroupContents
from turnetl.episodes import Filters
from turnetl.extraction.port import Resolved
from turnetl.extraction.structural.extractor import StructuralExtractor
from turnetl.graph.mirror.group import MirrorGroup, empty_contents
from turnetl.graph.port import GraphStore
from turnetl.ingestion.commit import build_change
from turnetl.ingestion.group import IngestResources
from turnetl.ingestion.ingest_report import GroupReport
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.plan import Scope
from turnetl.lake import Lake
from turnetl.llm.embedders.static_model import WordLlamaEmbedder

NOW = START + timedelta(days=1)
LAST = "The zeppelin was patched in src/hangar.py."


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Three turns of a session; the one in the middle is of several chunks."""
    sentences = (f"We mended thing {n} of the shop, and it was worn." for n in range(1, 1101))
    response = "\n\n".join(" ".join(group) for group in zip(*[sentences] * 10, strict=False))
    turns = [
        turn("p0", user_text="The cart should never round."),
        turn("p1", user_text="mend it", assistant_text=response, steering=(LAST,), ordinal=1),
        turn("p2", user_text="test the cart", ordinal=2),
    ]
    new = Lake(tmp_path / "lake")
    at = [replace(one, started_at=START + timedelta(minutes=n)) for n, one in enumerate(turns)]
    new.write_episodes(GROUP, [frames.episode_table(frames.turns(*at), Filters(rules=()))], dict)
    return new


def chunks_of(lake: Lake) -> list[int]:
    return [len(one.chunks) for one in lake.episodes(GROUP)]


async def ingest_lake(lake: Lake, store: Any, extractor: Any = None) -> GroupReport:
    run = IngestRun(
        "run-1", "here:1", lambda: NOW, timedelta(seconds=60), prefetch=3, retry_delay=0.01
    )
    resources = IngestResources(lake, store, extractor or PromptExtractor(), WordLlamaEmbedder())
    return await ingest(GROUP, resources, Scope(now=NOW), run)


async def test_a_turn_in_chunks_is_committed_completely_and_once(
    store: GraphStore, lake: Lake
) -> None:
    assert chunks_of(lake) == [1, 3, 1]
    report = await ingest_lake(lake, store)
    assert report.counts is not None
    assert (report.turns, report.committed, report.counts.episodes) == (3, 3, 5)
    assert [one.chunks for one in await store.receipts(GROUP)] == chunks_of(lake)
    before = await store.load(GROUP)
    again = await ingest_lake(lake, store)
    assert (again.committed, again.already_committed, again.stale) == (0, 3, 0)
    assert await store.load(GROUP) == before


async def test_a_run_killed_before_a_turn_in_chunks_writes_nothing_of_it(
    store: GraphStore, lake: Lake
) -> None:
    with pytest.raises(KeyboardInterrupt):
        await ingest_lake(lake, CrashingStore(store, before=2))
    assert (await store.counts(GROUP))[0] == 1
    report = await ingest_lake(lake, store)
    assert report.counts is not None
    assert (report.committed, report.counts.episodes) == (2, 5)


@pytest.mark.full
async def test_a_turn_in_chunks_is_found_by_a_term_of_its_last_chunk_only(
    store: GraphStore, lake: Lake
) -> None:
    await ingest_lake(lake, store)
    long = list(lake.episodes(GROUP))[1]
    assert [LAST in chunk for chunk in long.chunks] == [False, False, True]
    hits = await search_groups([await store.load(GROUP)], "zeppelin", WordLlamaEmbedder())
    assert [hit.turn_id for hit in hits].count(long.turn_id) == 1
    assert hits[0].turn_id == long.turn_id
    assert "zeppelin" in hits[0].fact


async def test_the_turn_after_one_in_chunks_follows_its_last_chunk(lake: Lake) -> None:
    first, long, last = lake.episodes(GROUP)
    group = MirrorGroup(empty_contents(GROUP))
    for one, chunks in ((first, 1), (long, 3)):
        change = build_change(one, Resolved((), (), ()), group)
        assert change.previous_chunks == 1
        group.apply(change, replace(receipt(one), chunks=chunks))
    assert build_change(last, Resolved((), (), ()), group).previous_chunks == 3


def test_entities_without_chunks_are_mentioned_by_the_chunks_with_their_name(
    lake: Lake,
) -> None:
    long = list(lake.episodes(GROUP))[1]
    entities = [entity("hangar.py"), entity("thing 1 of"), entity("thing"), entity("elsewhere")]
    group = MirrorGroup(GroupContents(GROUP, None, (entities[2],), (), (), {}))
    uuids = tuple(sorted(one.uuid for one in entities))
    new = (entities[0], entities[1], entities[3])
    mentioned_in = build_change(long, Resolved(new, (), uuids), group).mentioned_in
    assert {one.name: mentioned_in[one.uuid] for one in entities} == {
        "hangar.py": (2,),
        "thing 1 of": (0,),
        "thing": (0, 1, 2),
        "elsewhere": (0,),
    }


def test_a_turn_in_one_chunk_records_no_mentioning_chunks(lake: Lake) -> None:
    first = next(iter(lake.episodes(GROUP)))
    group = MirrorGroup(empty_contents(GROUP))
    cart = entity("cart")
    known = Resolved((cart,), (), (cart.uuid,), mentioned_in={cart.uuid: (0,)})
    assert build_change(first, known, group).mentioned_in == {}


async def test_the_structural_extractor_reads_the_complete_turn(
    store: GraphStore, lake: Lake
) -> None:
    await ingest_lake(lake, store, StructuralExtractor())
    facts = (await store.load(GROUP)).facts
    turn_ids = {one.turn_id for one in lake.episodes(GROUP)}
    assert facts
    assert all(set(one.turns) <= turn_ids for one in facts)
