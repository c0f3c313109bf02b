"""A provider that fails for a while, or for good: the run stops, and not one turn is set aside."""

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
from turnetl import clock
from turnetl.errors import ModelBusy, ModelRefused, TurnetlError
from turnetl.extraction.config import ExtractionConfig
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.prompt_config import PromptConfigs
from turnetl.extraction.templates import TemplateResolver
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingest.quarantine import Quarantine
from turnetl.ingest.turn_pipeline import IngestProgress, IngestRun, TurnPipeline
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap
from turnetl.model import Episode

TURNS = 20


class Outage(FaultInjector):
    """All goes well for some requests, then nothing does."""

    def __init__(self, kind: str, after: int) -> None:
        super().__init__({})
        self._kind = kind
        self._left = after

    def pick(self, request: bytes) -> str | None:
        super().pick(request)
        self._left -= 1
        return None if self._left >= 0 else self._kind


@pytest.fixture
async def graph(tmp_path: Path) -> AsyncIterator[GraphStore]:
    opened = await open_graph(f"ladybug://{tmp_path / 'graph'}", user="", password="", write=True)
    await opened.prepare()
    yield opened
    await opened.close()


def turns() -> list[Episode]:
    return [_turn(at) for at in range(TURNS)]


def _turn(at: int) -> Episode:
    started = builders.START + timedelta(minutes=at)
    whole = builders.episode(f"p{at}", ordinal=at, started_at=started)
    text = f"user: `module_{at}.py` uses `sqlite`."
    return replace(whole, text=text, parts=(text,))


async def ingested(
    provider: FakeProvider, graph: GraphStore, lake: Path
) -> IngestProgress | TurnetlError:
    """Run once, as a command would; return what came of it or what stopped it."""
    base = open_model("openai-compatible", model="m", base_url=provider.base_url("openai"))
    with closing(Journal(lake / "journal.sqlite", clock=clock.now)) as journal:
        patience = RetryPolicy(attempts=3, first_wait=0.01)
        model = wrap(base, ModelStack(journal, None, patience, Limiter(None, None, 4), None))
        steering = PromptConfigs(ExtractionConfig(preprocessing_prompt=None), TemplateResolver(()))
        extractor = LlmExtractor(model, ToyEmbedder(), prompts=steering)
        run = IngestRun("run", "here:1", lambda: builders.START, timedelta(minutes=1), prefetch=8)
        quarantine = Quarantine(lake, GROUP)
        pipeline = TurnPipeline(graph, extractor, ToyEmbedder(), quarantine, run)
        context = {one.turn_id: () for one in turns()}
        try:
            return await pipeline.ingest(GROUP, turns(), context, lambda _: None)
        except TurnetlError as error:
            return error
        finally:
            await extractor.close()


@pytest.mark.parametrize(
    ("kind", "stops"),
    [("500", ModelBusy), ("429", ModelBusy), ("dropped", ModelBusy), ("402", ModelRefused)],
)
async def test_an_outage_stops_the_run_and_loses_no_turn(
    provider: FakeProvider, graph: GraphStore, tmp_path: Path, kind: str, stops: type[TurnetlError]
) -> None:
    provider.fault_injector = Outage(kind, after=25)
    assert type(await ingested(provider, graph, tmp_path)) is stops
    before = len((await graph.load(GROUP)).receipts)
    assert 0 < before < TURNS
    assert not Quarantine(tmp_path, GROUP).entries()
    assert len(provider.requests) < 25 + 60, "nobody hammers a provider that is down"
    provider.fault_injector = None
    assert await ingested(provider, graph, tmp_path) == IngestProgress(
        TURNS - before, 0, skipped=before
    )


async def test_no_response_is_paid_for_twice_because_of_an_outage(
    provider: FakeProvider, graph: GraphStore, tmp_path: Path
) -> None:
    provider.fault_injector = Outage("402", after=25)
    await ingested(provider, graph, tmp_path)
    provider.fault_injector = None
    await ingested(provider, graph, tmp_path)
    answered = [str(asked.body) for asked in provider.requests[:25]]
    later = [str(asked.body) for asked in provider.requests[25:]]
    assert not set(answered) & set(later)
