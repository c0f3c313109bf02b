"""What would be sent, before it is."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from tests import real
from tests.extraction import sample_turns
from tests.extraction.canned_model import Canned
from tests.servers.provider import KEY, FakeProvider
from tests.servers.toy_embedder import ToyEmbedder
from turnetl import pipeline, wiring
from turnetl.errors import BadUsage
from turnetl.extraction.config import ExtractionConfig
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.preview_builder import PLACEHOLDER, preview_requests
from turnetl.extraction.prompt_config import fixed_prompt
from turnetl.extraction.request_preview import RequestPreview
from turnetl.ingest.report import IngestReport
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.journal import Journal, JournaledModel
from turnetl.llm.providers.registry import open_model, open_models
from turnetl.model import GroupId
from turnetl.output.ingest import dry_run_output
from turnetl.report import request_previews as report
from turnetl.settings import ModelSettings, Settings

TOLD = "Look for what broke."
NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    kept = Journal(tmp_path / "journal.sqlite", clock=lambda: NOW)
    yield kept
    kept.close()


def reader(model: ChatModel, embedder: Embedder) -> LlmExtractor:
    return LlmExtractor(model, embedder, prompts=fixed_prompt(TOLD))


async def shown(asked: ChatModel, journal: Journal | None = None) -> tuple[RequestPreview, ...]:
    turn = sample_turns.episodes()[0]
    return await preview_requests(turn, [], reader, asked, journal=journal, estimate=len)


async def test_no_model_is_asked(provider: FakeProvider) -> None:
    asked = open_model(
        "openai-compatible", model="canned", base_url=provider.base_url("openai"), api_key=KEY
    )
    found = await shown(asked)
    await asked.close()
    assert provider.requests == []
    assert [one.prompt for one in found] == ["extract_nodes.extract_message", "extract_edges.edge"]


async def test_they_are_the_very_requests_that_a_run_sends(
    provider: FakeProvider, model: ChatModel
) -> None:
    bare = open_model(
        "openai-compatible", model="canned", base_url=provider.base_url("openai"), api_key=KEY
    )
    (first, second) = await shown(bare)
    await bare.close()
    extracted = await reader(model, ToyEmbedder()).extract(sample_turns.episodes()[0], [])
    for part in extracted.parts:
        await part.facts
    assert first.body == provider.requests[0].body
    # But for the things that the first answer named.
    assert second.body is not None
    assert without_things(second.body) == without_things(provider.requests[1].body)


def without_things(body: Mapping[str, Any]) -> str:
    whole, count = re.subn(r"<ENTITIES>.*?</ENTITIES>", "", json.dumps(body))
    assert count == 1
    return whole


async def test_what_follows_an_unknown_answer_says_so() -> None:
    first, second = await shown(Canned())
    assert not first.has_placeholder
    assert second.has_placeholder
    assert PLACEHOLDER in str(second.messages)


async def test_answers_of_the_journal_take_the_place_of_stand_ins(journal: Journal) -> None:
    canned = Canned()
    model = JournaledModel(canned, journal)
    extracted = await reader(model, ToyEmbedder()).extract(sample_turns.episodes()[0], [])
    for part in extracted.parts:
        await part.facts
    first, second = await shown(canned, journal)
    assert len(canned.asked) == 2
    assert first.is_cached
    assert second.is_cached
    assert not second.has_placeholder
    assert [first.messages, second.messages] == [asked.messages for asked in canned.asked]


@pytest.mark.parametrize(("effort", "known"), [("high", True), ("low", False), ("", False)])
async def test_what_a_model_answered_that_thought_otherwise_is_another_answer(
    journal: Journal, effort: str, *, known: bool
) -> None:
    canned = Canned()
    model = JournaledModel(canned, journal, parameters="high")
    await reader(model, ToyEmbedder()).extract(sample_turns.episodes()[0], [])
    first, *_ = await preview_requests(
        sample_turns.episodes()[0],
        [],
        reader,
        canned,
        journal=journal,
        estimate=len,
        parameters=effort,
    )
    assert first.is_cached == known


def test_how_much_a_model_shall_think_is_part_of_the_recipe() -> None:
    def recipe(effort: str | None) -> str:
        chosen = ModelSettings(
            provider="openai-compatible", model="m", base_url="http://localhost:1/v1", effort=effort
        )
        made = wiring.recipe(Settings(llm=chosen))
        assert made is not None
        return made(GroupId("shop"), "")

    assert recipe(None) == recipe(None)
    assert len({recipe(None), recipe("low"), recipe("high")}) == 3


async def test_each_prompt_is_shown_with_its_own_model(provider: FakeProvider) -> None:
    asked = open_models(
        "openai",
        model="large",
        models={"extract_edges": "little"},
        base_url=provider.base_url("openai"),
        api_key=KEY,
    )
    first, second = await shown(asked)
    await asked.close()
    assert (first.model, second.model) == ("openai/large", "openai/little")
    assert second.body is not None
    assert second.body["model"] == "little"


async def test_they_can_be_read_and_parsed() -> None:
    found = await shown(Canned())
    printed = StringIO()
    Console(width=100, file=printed).print(report.text(found))
    said = printed.getvalue()
    assert TOLD in said
    assert "extract_edges.edge" in said
    assert "placeholder" in said
    parsed = msgspec.to_builtins(dry_run_output(IngestReport(None, ()), found))
    assert [one["prompt"] for one in parsed["requests"]] == [one.prompt for one in found]
    assert parsed["request_tokens"] == sum(one.tokens for one in found) > 0


async def test_the_next_turns_of_a_lake_are_shown_and_nothing_is_written(
    tmp_path: Path, provider: FakeProvider
) -> None:
    settings = Settings(
        lake=tmp_path / "lake",
        llm=ModelSettings(
            provider="openai-compatible", model="canned", base_url=provider.base_url("openai")
        ),
        extraction=ExtractionConfig(preprocessing_prompt=TOLD),
    )
    pipeline.parse_archives([str(real.SAMPLES)], settings)
    pipeline.filter_turns(settings)
    before = files(tmp_path)
    one = await pipeline.preview_requests(settings, pipeline.RunOptions(), lambda: NOW)
    two = await pipeline.preview_requests(settings, pipeline.RunOptions(limit=2), lambda: NOW)
    assert TOLD in str(one[0].messages)
    assert {request.turn_id for request in one} < {request.turn_id for request in two}
    assert provider.requests == []
    assert files(tmp_path) == before


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


async def test_structure_has_no_requests_to_show(tmp_path: Path) -> None:
    settings = Settings(lake=tmp_path, extractor="structural")
    with pytest.raises(BadUsage, match="uses no model"):
        await pipeline.preview_requests(settings, pipeline.RunOptions(), lambda: NOW)
