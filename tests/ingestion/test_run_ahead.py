"""Turns that are resolved ahead of their commit: the graph is that of one turn after the other."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import GROUP
from tests.extraction.canned_model import request_text
from tests.extraction.fixed_prompt import fixed_prompt
from tests.extraction.long_sample_turns import TickingClock
from tests.ingestion import redo_runs
from tests.ingestion.ahead_runs import (
    EXTRACTORS,
    TURNS,
    Reordered,
    UnevenModel,
    comparable,
    expected,
    opened_store,
    run,
    turns,
)
from tests.ingestion.model_summaries import open_journal
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import RunStopped
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.llm.guesses import ResolutionGuesses
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.port import GraphStore
from turnetl.ingestion.group import IngestResources
from turnetl.ingestion.ingest_run import IngestProgress
from turnetl.llm.ahead import AheadModel
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.journal import JournaledModel


@pytest.mark.full
@pytest.mark.parametrize("name", EXTRACTORS)
async def test_the_graph_is_that_of_one_turn_after_the_other(
    store: GraphStore, tmp_path: Path, name: str
) -> None:
    graph, alone = await asyncio.to_thread(expected, 1, name, 0.0)
    done, _ = await run(store, turns(1), tmp_path, Reordered(seed=1), 4, name=name)
    assert alone.committed == TURNS
    assert (comparable(await store.load(GROUP)), done) == (graph, alone)


@pytest.mark.full
@pytest.mark.parametrize("name", EXTRACTORS)
@pytest.mark.parametrize("order", range(3))
async def test_nothing_is_sent_in_vain_if_every_guess_is_right(
    tmp_path: Path, order: int, name: str
) -> None:
    async with opened_store(tmp_path) as store:
        _, ahead = await run(store, turns(1), tmp_path, AsGuessed(order=order), 4, name=name)
    assert ahead.used.calls
    assert ahead.unused.calls == 0


@pytest.mark.full
@settings(max_examples=10)
@given(
    st.sampled_from([1, 2, 3]),
    st.sampled_from(EXTRACTORS),
    st.sampled_from([(1, 16), (2, 2), (4, 16), (4, 1), (8, 16)]),
    st.integers(0, 1_000),
    st.sampled_from([(0.0, 0.0), (0.3, 0.0), (0.3, 0.04)]),
)
def test_whatever_arrives_first_or_fails_the_graph_is_that_of_one_turn_after_the_other(
    seed: int, name: str, limits: tuple[int, int], order: int, failures: tuple[float, float]
) -> None:
    (depth, slots), (busy, bad) = limits, failures

    async def run_ahead(folder: Path) -> tuple[Mapping[str, object], IngestProgress]:
        model = Reordered(seed=seed, bad=bad, busy=busy, order=order)
        async with opened_store(folder) as store:
            done, _ = await run(store, turns(seed), folder, model, depth, name=name, slots=slots)
            contents = await store.load(GROUP)
        assert max(Counter(map(request_text, model.requests)).values()) == 1
        return comparable(contents), done

    with tempfile.TemporaryDirectory() as folder:
        assert asyncio.run(run_ahead(Path(folder))) == expected(seed, name, bad)


@pytest.mark.full
@settings(max_examples=6)
@given(st.sampled_from([1, 2, 3]), st.integers(1, 8), st.integers(1, 60), st.booleans())
def test_a_run_that_ends_anywhere_is_continued_to_the_same_graph_and_pays_for_nothing_twice(
    seed: int, depth: int, after: int, is_cancelled: bool
) -> None:
    async def interrupted(folder: Path) -> Mapping[str, object]:
        model = UnevenModel(seed=seed, stop_after=None if is_cancelled else after)
        clock = TickingClock()
        async with opened_store(folder) as store:
            first = asyncio.create_task(run(store, turns(seed), folder, model, depth, clock=clock))
            if is_cancelled:
                model.on_answer[after] = first.cancel
            with suppress(asyncio.CancelledError, RunStopped):
                await first
            model.stop_after = None
            await run(store, turns(seed), folder, model, depth, clock=clock)
            contents = await store.load(GROUP)
        assert max(Counter(map(request_text, model.requests)).values()) == 1
        return comparable(contents)

    with tempfile.TemporaryDirectory() as folder:
        assert asyncio.run(interrupted(Path(folder))) == expected(seed, "llm", 0.0)[0]


@pytest.mark.full
async def test_a_redo_sends_nothing_after_it_began_to_undo(
    store: GraphStore, tmp_path: Path
) -> None:
    episodes = [
        replace(one.turn, user_text=one.text, first_line=number + 1)
        for number, one in enumerate(turns(1))
    ]
    lake, model = redo_runs.write_lake(tmp_path / "lake", episodes), UnevenModel(seed=1)
    requests: dict[str, int] = {}

    def count(stage: str, done: int, total: int) -> None:
        if done == total:
            requests[stage] = len(model.requests)

    before = IngestResources(lake, store, StructuralExtractor(), ToyEmbedder())
    await redo_runs.ingest(before)
    with closing(open_journal(tmp_path)) as journal:
        ahead = AheadModel(Late(JournaledModel(model, journal)), ResolutionGuesses())
        extractor = LlmExtractor(ahead, ToyEmbedder(), prompts=fixed_prompt(None))
        resources = replace(before, extractor=extractor, ahead=ahead)
        planned = await redo_runs.plan_redo_of(resources)
        assert planned is not None
        done = await redo_runs.carry_out(resources, planned, progress=count, run_ahead=4)
        await extractor.close()
    assert done.ingested is not None
    assert done.ingested.committed == TURNS
    assert requests["extract"] == len(model.requests)


@dataclass
class AsGuessed(Reordered):
    """Every response is the guess, if there is one."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        response = await super().complete(request)
        guess = ResolutionGuesses().guess(request)
        return response if guess is None else replace(response, text=guess)


@dataclass
class Late:
    """A model whose responses arrive after every guess."""

    model: ChatModel

    @property
    def name(self) -> str:
        return self.model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        for _ in range(50):
            await asyncio.sleep(0)
        return await self.model.complete(request)

    async def close(self) -> None:
        await self.model.close()
