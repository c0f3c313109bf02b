"""Turns of a run share the beginnings of their prompts, which providers cache, over real HTTP."""

import pytest

from tests.extraction import sample_turns
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers.prompt_cache import PromptCache
from tests.servers.provider import KEY, FakeProvider
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.model import Usage
from turnetl.extraction.config import ExtractionConfig, PromptConfigs
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.ontology import CODING
from turnetl.extraction.templates import TemplateResolver, built_in_folder
from turnetl.llm.meter import Meter, MeteredModel
from turnetl.llm.prices import Price, Prices
from turnetl.llm.providers.registry import open_model

MODELS = [
    ("openai", "gpt-4.1-mini"),
    ("openai", "gpt-6-luna"),
    ("openai-compatible", "any"),
    ("anthropic", "claude-sonnet-5"),
    ("anthropic", "claude-3-5-haiku-latest"),
    ("gemini", "gemini-3-flash"),
]
PRICES = Prices(({"*": Price(input=1.0, cached_input=0.1, output=0.0)},))


async def used(provider: FakeProvider, name: str, model: str, prompts: PromptConfigs) -> Usage:
    """Ingest the sample turns; return what they used."""
    provider.prompt_cache, meter = PromptCache(), Meter(PRICES)
    http_model = open_model(name, model=model, base_url=provider.base_url(name), api_key=KEY)
    extractor = LlmExtractor(
        MeteredModel(http_model, meter), ToyEmbedder(), prompts=prompts, ontology=CODING
    )
    group = sample_turns.empty_group()
    await sample_turns.ingest(extractor, sample_turns.episodes(), group, ToyEmbedder())
    await extractor.close()
    return meter.total


@pytest.mark.parametrize(("name", "model"), MODELS)
async def test_most_of_the_prompts_of_a_run_comes_from_the_cache_at_its_price(
    provider: FakeProvider, name: str, model: str
) -> None:
    default = PromptConfigs(ExtractionConfig(), TemplateResolver([built_in_folder()]))
    usage = await used(provider, name, model, default)
    assert usage.cached_tokens / usage.prompt_tokens > 0.5
    paid = usage.prompt_tokens - 0.9 * usage.cached_tokens
    assert usage.cost == pytest.approx(paid / 1_000_000)


@pytest.mark.parametrize(("name", "model"), [MODELS[1], *MODELS[3:5]])
async def test_nothing_of_graphitis_own_prompts_is_marked_for_a_cache(
    provider: FakeProvider, name: str, model: str
) -> None:
    usage = await used(provider, name, model, fixed_prompt(None))
    assert usage.cached_tokens == 0
