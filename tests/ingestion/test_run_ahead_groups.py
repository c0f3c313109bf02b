"""Several groups whose turns run ahead with one model, of which a request may hang."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.builders import GROUP
from tests.extraction.canned_model import request_text
from tests.ingestion.ahead_runs import (
    TURNS,
    Reordered,
    comparable,
    expected,
    opened_store,
    run,
    started,
    turns,
)
from turnetl.base.model import GroupId
from turnetl.graph.port import GraphStore
from turnetl.ingestion.ingest_run import IngestProgress
from turnetl.llm.chat import ChatRequest, ChatResponse

OTHER = GroupId("other")


@dataclass
class Hanging(Reordered):
    """Responds to requests of a turn only when it may."""

    text: str = ""
    """Words that only requests of that turn contain."""
    prompt: str = ""
    may_respond: asyncio.Event = field(default_factory=asyncio.Event)
    hung: int = 0
    """Requests that waited."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        if request.prompt_name == self.prompt and self.text in request_text(request):
            self.hung += 1
            await self.may_respond.wait()
        return await super().complete(request)


async def serial(folder: Path, group_id: GroupId, seed: int) -> Mapping[str, object]:
    """Return the group as one turn after the other makes it, in a graph of its own."""
    async with opened_store(folder) as store:
        await run(store, turns(seed, group_id=group_id), folder, Reordered(), 0)
        return comparable(await store.load(group_id))


@pytest.mark.full
async def test_groups_that_share_a_model_become_what_each_becomes_alone(
    store: GraphStore, tmp_path: Path
) -> None:
    groups = {GROUP: 1, OTHER: 2}
    async with started(tmp_path, Reordered(order=3)) as shared:
        await asyncio.gather(
            *(
                shared.ingest(store, turns(seed, group_id=group), 4)
                for group, seed in groups.items()
            )
        )
    for group, seed in groups.items():
        folder = tmp_path / group
        folder.mkdir()
        graph = await serial(folder, group, seed)
        assert comparable(await store.load(group)) == graph


@pytest.mark.full
async def test_a_request_that_hangs_stops_only_its_group_and_only_from_its_turn_on(
    tmp_path: Path,
) -> None:
    episodes, number = turns(1), 5
    model = Hanging(seed=1, prompt="dedupe_nodes.nodes", text=episodes[number].text)
    reached = asyncio.Event()

    def progress(done: IngestProgress) -> None:
        if done.committed == number:
            reached.set()

    async with opened_store(tmp_path) as store, started(tmp_path, model) as shared:
        hanging = asyncio.create_task(shared.ingest(store, episodes, 4, progress))
        other = await shared.ingest(store, turns(2, group_id=OTHER), 4)
        async with asyncio.timeout(60):
            await reached.wait()
        assert (other.committed, hanging.done(), model.hung) == (TURNS, False, 1)
        model.may_respond.set()
        done = await hanging
        graph = comparable(await store.load(GROUP))
    assert (graph, done) == await asyncio.to_thread(expected, 1, "llm", 0.0)
