"""What Graphiti logs: part of turnetl's log while turnetl calls it, without texts of turns."""

import logging
from dataclasses import replace

import pytest

from tests import builders
from tests.extraction.canned_model import CannedModel
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.extraction.llm import LlmExtractor

GRAPHITI = "graphiti_core.utils.maintenance.edge_operations"
TEXT = "user: `cart.py` uses `!zanzibar`."
"""The fact names an entity that the model did not extract."""


async def extract() -> None:
    extractor = LlmExtractor(CannedModel(), ToyEmbedder(), prompts=fixed_prompt(None))
    episode = replace(builders.episode(), text=TEXT, chunks=(TEXT,))
    extracted = await extractor.extract(episode, ())
    await extracted.chunks[0].facts


async def test_a_warning_of_graphiti_is_a_debug_line_of_turnetl_without_texts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "turnetl")
    await extract()
    assert [one for one in caplog.records if one.name.startswith("graphiti_core")] == []
    [line] = [one for one in caplog.records if one.getMessage().startswith("Graphiti: ")]
    assert line.name == "turnetl.extraction.llm.graphiti_calls"
    assert line.levelno == logging.DEBUG
    assert "dangling edge endpoint" in line.getMessage()
    assert vars(line)["numbers"] == [1]
    assert "zanzibar" not in line.getMessage()


async def test_the_log_of_another_program_that_calls_graphiti_stays_as_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await extract()
    caplog.clear()
    logging.getLogger(GRAPHITI).warning("%d of %s", 3, "something")
    [record] = caplog.records
    assert (record.name, record.getMessage()) == (GRAPHITI, "3 of something")
