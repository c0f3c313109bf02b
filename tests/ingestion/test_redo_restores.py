"""An exact redo of any turn equals a fresh ingest, whatever the turns are and when they came."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.ingestion.redo_runs import dump_in_order, empty, ingest, opened, redo, write_lake
from tests.ingestion.test_undo_restores import (
    EXTRACTORS,
    LATE_AND_INVALIDATING,
    extractor,
    prepare,
    turns,
)
from turnetl.base.model import Episode
from turnetl.ingestion.redo_report import RedoSelection


async def equals_a_fresh_ingest(
    url: str, lake: Path, name: str, generated: Sequence[tuple[Episode, bool]], chosen: int
) -> None:
    """Check it for turns of which some arrive late."""
    await empty(url)
    first = [one.turn for one, is_first in generated if is_first]
    everything = [one.turn for one, _ in generated]
    for run_id, arrived in (("run-a", first), ("run-b", everything)):
        async with opened(url, write_lake(lake, arrived), extractor(name)) as resources:
            await ingest(resources, run_id)
    selected = everything[chosen % len(everything)].turn_id
    async with opened(url, write_lake(lake, everything), extractor(name)) as resources:
        done = await redo(resources, RedoSelection(turn=selected), exact=True)
        assert done.error is None
    redone = await dump_in_order(url)
    await empty(url)
    async with opened(url, write_lake(lake, everything), extractor(name)) as resources:
        await ingest(resources)
    assert redone == await dump_in_order(url)


@pytest.mark.full
@pytest.mark.parametrize("name", EXTRACTORS)
def test_an_exact_redo_of_any_turn_equals_a_fresh_ingest(
    graph_url: str, tmp_path: Path, name: str
) -> None:
    asyncio.run(prepare(graph_url))

    # One example takes seconds of CPU.
    @example(LATE_AND_INVALIDATING, 4)
    @settings(max_examples=settings().max_examples // 16)
    @given(turns(), st.integers(0, 6))
    def check(generated: list[tuple[Episode, bool]], chosen: int) -> None:
        asyncio.run(equals_a_fresh_ingest(graph_url, tmp_path / "lake", name, generated, chosen))

    check()
