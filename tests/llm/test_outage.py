"""An outage of the provider stops the run and quarantines no turn."""

from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests import builders
from tests.builders import GROUP
from tests.servers.provider import FakeProvider, FaultInjector
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base import clock
from turnetl.base.errors import ModelBusy, ModelUnusable, TurnetlError
from turnetl.base.model import Episode
from turnetl.extraction.config import ExtractionConfig, PromptConfigs
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.templates import TemplateResolver
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingestion.ingest_run import IngestProgress, IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.lake import LocalFiles
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter, Slots
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap

TURNS = 20


class Outage(FaultInjector):
    """No fault for a number of requests, then the same fault for all."""

    def __init__(self, fault: str, after: int) -> None:
        super().__init__({})
        self._fault = fault
        self._remaining = after

    def pick(self, request: bytes) -> str | None:
        super().pick(request)
        self._remaining -= 1
        return None if self._remaining >= 0 else self._fault


@pytest.fixture
async def graph(tmp_path: Path) -> AsyncIterator[GraphStore]:
    opened = await open_graph(f"ladybug://{tmp_path / 'graph'}", user="", password="", write=True)
    await opened.prepare()
    yield opened
    await opened.close()


def turns() -> list[Episode]:
    return [_episode(index) for index in range(TURNS)]


def _episode(index: int) -> Episode:
    started = builders.START + timedelta(minutes=index)
    episode = builders.episode(f"p{index}", ordinal=index, started_at=started)
    text = f"user: `module_{index}.py` uses `sqlite`."
    return replace(episode, text=text, chunks=(text,))


async def ingest(
    provider: FakeProvider, graph: GraphStore, lake: Path
) -> IngestProgress | TurnetlError:
    """Run once, as a command does; return the progress or the error."""
    base = open_model("openai-compatible", model="m", base_url=provider.base_url("openai"))
    with closing(Journal(lake / "journal.sqlite", clock=clock.now)) as journal:
        retry_policy = RetryPolicy(attempts=3, first_wait=0.01)
        model = wrap(
            base,
            ModelStack(journal, None, retry_policy, Limiter(Slots(4)), None),
        )
        prompts = PromptConfigs(ExtractionConfig(preprocessing_prompt=None), TemplateResolver(()))
        extractor = LlmExtractor(model, ToyEmbedder(), prompts=prompts)
        run = IngestRun("run", "here:1", lambda: builders.START, timedelta(minutes=1), prefetch=8)
        quarantine = Quarantine(LocalFiles(lake), GROUP)
        pipeline = TurnPipeline(graph, extractor, ToyEmbedder(), quarantine, run)
        context = {episode.turn_id: () for episode in turns()}
        try:
            return await pipeline.ingest(GROUP, turns(), context, lambda _: None)
        except TurnetlError as error:
            return error
        finally:
            await extractor.close()


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "error"),
    [("500", ModelBusy), ("429", ModelBusy), ("dropped", ModelBusy), ("402", ModelUnusable)],
)
async def test_an_outage_stops_the_run_and_loses_no_turn(
    provider: FakeProvider, graph: GraphStore, tmp_path: Path, fault: str, error: type[TurnetlError]
) -> None:
    provider.fault_injector = Outage(fault, after=25)
    assert type(await ingest(provider, graph, tmp_path)) is error
    before = len((await graph.load(GROUP)).receipts)
    assert 0 < before < TURNS
    assert not Quarantine(LocalFiles(tmp_path), GROUP).entries()
    assert len(provider.requests) < 25 + 60, "few requests are sent during an outage"
    provider.fault_injector = None
    assert await ingest(provider, graph, tmp_path) == IngestProgress(
        TURNS - before, 0, already_committed=before
    )


@pytest.mark.full
async def test_no_response_is_paid_for_twice_because_of_an_outage(
    provider: FakeProvider, graph: GraphStore, tmp_path: Path
) -> None:
    provider.fault_injector = Outage("402", after=25)
    await ingest(provider, graph, tmp_path)
    provider.fault_injector = None
    await ingest(provider, graph, tmp_path)
    before_outage = [str(request.body) for request in provider.requests[:25]]
    after_outage = [str(request.body) for request in provider.requests[25:]]
    assert not set(before_outage) & set(after_outage)
