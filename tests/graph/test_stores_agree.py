"""Both graphs end up the same: equal turns in, equal groups out, equal hits."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.real import SAMPLES
from turnetl import pipeline, wiring
from turnetl.model import GroupContents, Receipt
from turnetl.search.run import SearchHit
from turnetl.settings import Settings

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
QUESTIONS = ("why not React", "KeyError", "how is a photo moved without losing it", "cart.py")


@dataclass(frozen=True)
class Filled:
    """What a graph holds and answers after a backfill."""

    groups: list[GroupContents]
    hits: list[list[SearchHit]]


@pytest.mark.neo4j
async def test_the_same_archives_make_the_same_graph_in_both(
    tmp_path: Path, neo4j_url: str
) -> None:
    embedded = await filled(tmp_path / "embedded", f"ladybug://{tmp_path / 'graph.lbug'}")
    served = await filled(tmp_path / "served", neo4j_url)
    assert [group.group_id for group in embedded.groups] == ["bookshop", "shoebox"]
    for one, other in zip(embedded.groups, served.groups, strict=True):
        assert one.profile == other.profile
        assert one.entities == other.entities
        assert one.facts == other.facts
        assert said(one) == said(other)
        assert dict(one.texts) == dict(other.texts)
    assert all(embedded.hits)
    assert embedded.hits == served.hits


async def filled(lake: Path, graph: str) -> Filled:
    settings = Settings(lake=lake, graph=graph)
    done = await pipeline.backfill([str(SAMPLES)], settings, pipeline.RunOptions(), lambda: NOW)
    assert done.ingested.exit_code == 0
    async with wiring.store(settings, write=False) as store:
        groups = [await store.load(group) for group in await store.groups()]
    return Filled(groups, [list(await pipeline.search_turns(one, settings)) for one in QUESTIONS])


def said(group: GroupContents) -> list[Receipt]:
    """The receipts, but for the one thing that no two runs share."""
    return [replace(receipt, run_id="") for receipt in group.receipts]
