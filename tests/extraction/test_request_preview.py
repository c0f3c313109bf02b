"""Previews of the requests that a run would send."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests import real_archives
from tests.extraction import sample_turns
from tests.extraction.canned_model import CannedModel
from tests.extraction.fixed_prompt import fixed_prompt
from tests.printed import printed
from tests.servers.provider import KEY, FakeProvider
from tests.servers.toy_embedder import ToyEmbedder
from turnetl import pipeline, wiring
from turnetl.base.ids import recipe_digest
from turnetl.base.model import GroupId
from turnetl.base.results import plain
from turnetl.extraction.config import ExtractionConfig
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.port import RequestPreview
from turnetl.extraction.preview_builder import PLACEHOLDER, preview_requests
from turnetl.ingestion.ingest_report import IngestReport
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import Embedder
from turnetl.llm.journal import Journal, JournaledModel
from turnetl.llm.providers.registry import open_model, open_models
from turnetl.settings import ModelSettings, Settings
from turnetl.settings.model import ExtractorName
from turnetl.views import ingest

INSTRUCTIONS = "Look for what broke."
NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path / "journal.sqlite", clock=lambda: NOW)
    yield opened
    opened.close()


def make_extractor(model: ChatModel, embedder: Embedder) -> LlmExtractor:
    return LlmExtractor(model, embedder, prompts=fixed_prompt(INSTRUCTIONS))


async def preview(model: ChatModel, journal: Journal | None = None) -> tuple[RequestPreview, ...]:
    turn = sample_turns.episodes()[0]
    return await preview_requests(turn, [], make_extractor, model, journal=journal, estimate=len)


async def test_a_preview_sends_no_request(provider: FakeProvider) -> None:
    model = open_model(
        "openai-compatible", model="canned", base_url=provider.base_url("openai"), api_key=KEY
    )
    previews = await preview(model)
    await model.close()
    assert provider.requests == []
    prompts = [preview.prompt for preview in previews]
    assert prompts == ["extract_nodes.extract_message", "extract_edges.edge"]


async def test_previews_are_exactly_the_requests_of_a_run(
    provider: FakeProvider, model: ChatModel
) -> None:
    bare = open_model(
        "openai-compatible", model="canned", base_url=provider.base_url("openai"), api_key=KEY
    )
    (first, second) = await preview(bare)
    await bare.close()
    extracted = await make_extractor(model, ToyEmbedder()).extract(sample_turns.episodes()[0], [])
    for chunk in extracted.chunks:
        await chunk.facts
    assert first.body == provider.requests[0].body
    # Except for the entities of the first response.
    assert second.body is not None
    assert without_entities(second.body) == without_entities(provider.requests[1].body)


def without_entities(body: Mapping[str, Any]) -> str:
    text, count = re.subn(r"<ENTITIES>.*?</ENTITIES>", "", json.dumps(body))
    assert count == 1
    return text


async def test_a_request_that_depends_on_an_unknown_response_has_a_placeholder() -> None:
    first, second = await preview(CannedModel())
    assert not first.has_placeholder
    assert second.has_placeholder
    assert PLACEHOLDER in str(second.messages)


async def test_responses_of_the_journal_replace_placeholders(journal: Journal) -> None:
    canned = CannedModel()
    model = JournaledModel(canned, journal)
    extracted = await make_extractor(model, ToyEmbedder()).extract(sample_turns.episodes()[0], [])
    for chunk in extracted.chunks:
        await chunk.facts
    first, second = await preview(canned, journal)
    assert len(canned.requests) == 2
    assert first.is_cached
    assert second.is_cached
    assert not second.has_placeholder
    assert [first.messages, second.messages] == [request.messages for request in canned.requests]


@pytest.mark.parametrize(("effort", "is_cached"), [("high", True), ("low", False), ("", False)])
async def test_a_response_with_other_parameters_is_not_a_cache_hit(
    journal: Journal, effort: str, *, is_cached: bool
) -> None:
    canned = CannedModel()
    model = JournaledModel(canned, journal, parameters="high")
    await make_extractor(model, ToyEmbedder()).extract(sample_turns.episodes()[0], [])
    first, *_ = await preview_requests(
        sample_turns.episodes()[0],
        [],
        make_extractor,
        canned,
        journal=journal,
        estimate=len,
        parameters=effort,
    )
    assert first.is_cached == is_cached


def test_the_reasoning_effort_is_part_of_the_recipe() -> None:
    def recipe(effort: str | None) -> str:
        settings = ModelSettings(
            provider="openai-compatible", model="m", base_url="http://localhost:1/v1", effort=effort
        )
        recipe_of = wiring.recipe(Settings(llm=settings))
        assert recipe_of is not None
        return recipe_digest(recipe_of(GroupId("shop"), ""))

    assert recipe(None) == recipe(None)
    assert len({recipe(None), recipe("low"), recipe("high")}) == 3


@pytest.mark.parametrize("name", ["structural", "llm", "hybrid"])
async def test_a_plan_expects_the_recipe_that_the_extractor_writes(name: ExtractorName) -> None:
    model = ModelSettings(
        provider="openai-compatible", model="m", base_url="http://localhost:1/v1", effort="low"
    )
    settings = Settings(extractor=name, llm=model)
    recipe_of = wiring.recipe(settings)
    used = None if name == "structural" else wiring.model(settings)
    extractor = wiring.extractor(settings, ToyEmbedder(), used)
    assert recipe_of is not None
    assert recipe_of(GroupId("shop"), "tool_heavy") == extractor.recipe_parts(
        GroupId("shop"), "tool_heavy"
    )
    await extractor.close()


async def test_each_preview_names_the_model_of_its_prompt(provider: FakeProvider) -> None:
    router = open_models(
        "openai",
        model="large",
        models={"extract_edges": "little"},
        base_url=provider.base_url("openai"),
        api_key=KEY,
    )
    first, second = await preview(router)
    await router.close()
    assert (first.model, second.model) == ("openai/large", "openai/little")
    assert second.body is not None
    assert second.body["model"] == "little"


async def test_previews_are_printed_and_serialised() -> None:
    previews = await preview(CannedModel())
    text = printed(ingest.previews(previews), 100)
    assert INSTRUCTIONS in text
    assert "extract_edges.edge" in text
    assert "placeholder" in text
    parsed = plain(IngestReport(None, (), requests=tuple(previews)))
    assert [request["prompt"] for request in parsed["requests"]] == [
        preview.prompt for preview in previews
    ]
    assert parsed["request_tokens"] == sum(preview.tokens for preview in previews) > 0


@pytest.mark.full
async def test_the_next_turns_of_a_lake_are_previewed_and_nothing_is_written(
    tmp_path: Path, provider: FakeProvider
) -> None:
    settings = Settings(
        lake=tmp_path / "lake",
        llm=ModelSettings(
            provider="openai-compatible", model="canned", base_url=provider.base_url("openai")
        ),
        extraction=ExtractionConfig(preprocessing_prompt=INSTRUCTIONS),
    )
    pipeline.parse_archives([str(real_archives.SAMPLES)], settings)
    pipeline.filter_turns(settings)
    before = files(tmp_path)
    dry = pipeline.RunOptions(dry_run=True)
    one = (await pipeline.ingest(settings, dry, lambda: NOW)).requests
    two = (await pipeline.ingest(settings, replace(dry, limit=2), lambda: NOW)).requests
    assert one is not None
    assert two is not None
    assert INSTRUCTIONS in str(one[0].messages)
    assert {request.turn_id for request in one} < {request.turn_id for request in two}
    assert provider.requests == []
    assert files(tmp_path) == before


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


async def test_the_structural_extractor_has_no_requests(tmp_path: Path) -> None:
    settings = Settings(lake=tmp_path, extractor="structural")
    pipeline.parse_archives([str(real_archives.SAMPLES)], settings)
    pipeline.filter_turns(settings)
    report = await pipeline.ingest(settings, pipeline.RunOptions(dry_run=True), lambda: NOW)
    assert report.ready > 0
    assert report.requests == ()
