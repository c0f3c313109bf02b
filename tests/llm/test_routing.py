"""Routing of prompts to models, and the import of adapters."""

import inspect
import re
import subprocess
import sys
from types import ModuleType
from typing import get_args

import pytest
from graphiti_core.prompts.names import PromptName
from graphiti_core.utils.maintenance import edge_operations, node_operations

from tests.fakes.models import FakeModel, scripted
from turnetl.base.errors import BadUsage
from turnetl.llm import chat
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse, PromptRouter, expand_routes
from turnetl.llm.providers import registry
from turnetl.llm.providers.registry import open_models


def named(name: str) -> FakeModel:
    """Return a model that responds with its name."""
    return scripted([ChatResponse(name, 1, 1, truncated=False)], name=name)


async def model_name_for(model: ChatModel, prompt: str) -> str:
    return (await model.complete(ChatRequest(prompt, (), None, 1))).text


async def test_the_longest_prefix_wins() -> None:
    router = PromptRouter(
        named("big"),
        {"extract_edges": named("a"), "extract_edges.extract_timestamps": named("b")},
    )
    assert await model_name_for(router, "extract_nodes.extract_message") == "big"
    assert await model_name_for(router, "extract_edges.edge") == "a"
    assert await model_name_for(router, "extract_edges.extract_timestamps") == "b"


async def test_the_name_lists_all_models_independent_of_their_order() -> None:
    big, small = named("p/big"), named("p/small")
    forward = PromptRouter(big, {"dedupe_nodes": small, "dedupe_edges": big})
    backward = PromptRouter(big, {"dedupe_edges": big, "dedupe_nodes": small})
    assert forward.name == backward.name == "p/big (dedupe_edges=p/big, dedupe_nodes=p/small)"
    assert PromptRouter(big, {}).name == "p/big"


async def test_every_model_is_closed_once() -> None:
    big, small = named("big"), named("small")
    await PromptRouter(big, {"a": small, "b": small, "c": big}).close()
    assert (big.closed, small.closed) == (1, 1)


def test_small_stands_for_the_prompts_of_graphitis_small_model() -> None:
    routes = expand_routes({"small": "s", "dedupe_edges": "d"})
    assert routes["dedupe_edges"] == "d"
    assert routes["extract_edges.extract_timestamps"] == "s"
    assert "dedupe_edges.resolve_edge" not in routes
    assert "extract_nodes.extract_message" not in routes


def test_the_request_about_several_facts_goes_where_that_about_one_fact_goes() -> None:
    small = named("small")
    router = PromptRouter(named("big"), dict.fromkeys(expand_routes({"small": "s"}), small))
    for prompt in ("dedupe_edges.resolve_edge", "dedupe_edges.resolve_edges"):
        assert router.model_for(prompt) is small


def test_a_prefix_of_no_prompt_is_rejected_with_a_list_of_prompts() -> None:
    with pytest.raises(BadUsage, match=r"`dedup_nodes`.*dedupe_nodes\.nodes.*small"):
        expand_routes({"dedup_nodes": "m"})


OWN = (
    "communities.",
    "dedupe_edges.resolve_edges",
    "evaluate.",
    "index.",
    "reflexion.",
    "search.",
    "summaries.",
)


def test_all_prompts_but_ours_are_graphitis() -> None:
    own = {name for name in chat.PROMPTS if name.startswith(OWN)}
    assert set(chat.PROMPTS) - own <= set(get_args(PromptName))


SUMMARIES = {
    "extract_nodes.extract_entity_summaries_from_episodes",
    "extract_nodes.extract_summaries_batch",
}
"""Graphiti's prompts for summaries, which no run sends."""


@pytest.mark.parametrize("module", [node_operations, edge_operations])
def test_the_small_prompts_include_those_of_graphitis_small_model(module: ModuleType) -> None:
    calls = re.findall(
        r"generate_prompt_response\(\n(.*?)\n +\)", inspect.getsource(module), re.DOTALL
    )
    small = [call for call in calls if "ModelSize.small" in call]
    names = {name for call in small for name in re.findall(r"'(\w+\.\w+)'", call)}
    assert names
    assert names - SUMMARIES <= set(chat.SMALL_PROMPTS)


async def test_a_model_of_several_prompts_is_opened_once() -> None:
    wrapped: list[str] = []

    def wrapper(model: ChatModel) -> ChatModel:
        wrapped.append(model.name)
        return model

    opened = open_models(
        "openai",
        model="big",
        models={"dedupe_nodes": "small", "dedupe_edges": "small", "extract_edges": "big"},
        api_key="k",
        wrapper=wrapper,
    )
    await opened.close()
    assert sorted(wrapped) == ["openai/big", "openai/small"]
    assert opened.name == (
        "openai/big (dedupe_edges=openai/small, dedupe_nodes=openai/small, "
        "extract_edges=openai/big)"
    )


async def test_a_single_model_for_all_prompts_keeps_its_name() -> None:
    opened = open_models("gemini", model="flash", models={"small": "flash"}, api_key="k")
    await opened.close()
    assert opened.name == "gemini/flash"


@pytest.mark.full
@pytest.mark.parametrize("provider", registry.PROVIDERS)
def test_only_the_configured_provider_is_imported(provider: str) -> None:
    program = (
        "import sys\n"
        "from turnetl.llm.providers import registry\n"
        "adapters = ('openai', 'anthropic', 'gemini')\n"
        "loaded = lambda: {n for n in adapters if f'turnetl.llm.providers.{n}' in sys.modules}\n"
        "assert loaded() == set(), loaded()\n"
        f"registry.open_model({provider!r}, model='m', base_url='http://x', api_key='k')\n"
        f"assert loaded() == {{{provider.removesuffix('-compatible')!r}}}, loaded()\n"
        "assert not {'openai', 'anthropic', 'google.genai'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
