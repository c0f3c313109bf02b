"""Both stores hold the same groups and return the same hits for the same turns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.real_archives import SAMPLES
from turnetl import pipeline, wiring
from turnetl.base.graph_model import GroupContents, Receipt
from turnetl.retrieval.hits import SearchHit
from turnetl.settings import Settings

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
QUERIES = ("why not React", "KeyError", "how is a photo moved without losing it", "cart.py")


@dataclass(frozen=True)
class Ingested:
    """What a graph holds and returns after a backfill."""

    groups: list[GroupContents]
    hits: list[Sequence[SearchHit]]


@pytest.mark.neo4j
async def test_the_same_archives_make_the_same_graph_in_both_stores(
    tmp_path: Path, neo4j_url: str
) -> None:
    embedded = await ingest_samples(tmp_path / "embedded", f"ladybug://{tmp_path / 'graph.lbug'}")
    served = await ingest_samples(tmp_path / "served", neo4j_url)
    assert [group.group_id for group in embedded.groups] == ["bookshop", "shoebox"]
    for ours, other in zip(embedded.groups, served.groups, strict=True):
        assert ours.profile == other.profile
        assert ours.entities == other.entities
        assert ours.facts == other.facts
        assert receipts_without_run(ours) == receipts_without_run(other)
        assert dict(ours.texts) == dict(other.texts)
    assert all(embedded.hits)
    assert embedded.hits == served.hits


async def ingest_samples(lake: Path, graph: str) -> Ingested:
    settings = Settings(lake=lake, graph=graph)
    report = await pipeline.backfill([str(SAMPLES)], settings, pipeline.RunOptions(), lambda: NOW)
    assert report.ingested.exit_code == 0
    async with wiring.store(settings, write=False) as store:
        groups = [await store.load(group) for group in await store.groups()]
    return Ingested(
        groups,
        [(await pipeline.search_turns(query, settings, lambda: NOW)).hits for query in QUERIES],
    )


def receipts_without_run(group: GroupContents) -> list[Receipt]:
    """Return the receipts without the run id, which differs between runs."""
    return [replace(receipt, run_id="") for receipt in group.receipts]
