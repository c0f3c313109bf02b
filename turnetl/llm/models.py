"""From a provider's name to a model, and from a prompt's name to one of several.

No provider's own library is used or needed: each format is a module of ours over HTTP, imported
when its provider is named.
"""

import asyncio
from collections.abc import Callable, Mapping

from turnetl.errors import BadUsage
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse, ProviderAdapter
from turnetl.llm.http import HttpModel, Timeouts
from turnetl.llm.schema_in_prompt import SchemaInPrompt

PROVIDERS = ("openai", "openai-compatible", "anthropic", "gemini")

SMALL = (
    "dedupe_edges.resolve_edge",
    "extract_edges.extract_attributes",
    "extract_edges.extract_timestamps",
    "extract_nodes.extract_attributes",
    "extract_nodes.extract_entity_summaries_from_episodes",
    "extract_nodes.extract_summaries_batch",
)
"""The prompts that Graphiti sends to its small model, and what the word `small` stands for."""
PROMPTS = (
    *SMALL,
    "dedupe_nodes.nodes",
    "extract_edges.edge",
    "extract_nodes.extract_json",
    "extract_nodes.extract_message",
    "extract_nodes.extract_text",
    "reflexion.entities",
    "reflexion.facts",
)
"""All that a run may send."""

_NEED_A_KEY = ("openai", "anthropic", "gemini")


class PerPrompt:
    """Asks one model or another, by the prompt's name."""

    def __init__(self, default: ChatModel, by_prefix: Mapping[str, ChatModel]) -> None:
        """Take models that are there already; the same one may stand under several names.

        Args:
            default: asked where no beginning fits.
            by_prefix: beginnings of prompts' names; the longest that fits wins.
        """
        self._default = default
        self._by_prefix = {
            prefix: by_prefix[prefix]
            for prefix in sorted(by_prefix, key=lambda one: (-len(one), one))
        }

    @property
    def name(self) -> str:
        """All models, the same however they were told."""
        others = {prefix: model.name for prefix, model in self._by_prefix.items()}
        if not others:
            return self._default.name
        told = ", ".join(f"{prefix}={others[prefix]}" for prefix in sorted(others))
        return f"{self._default.name} ({told})"

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask the model for this prompt, once; raises what it raises."""
        return await self.of(request.prompt_name).complete(request)

    def of(self, prompt: str) -> ChatModel:
        fitting = (m for prefix, m in self._by_prefix.items() if prompt.startswith(prefix))
        return next(fitting, self._default)

    async def close(self) -> None:
        # Side by side: each may wait a while for its last answers.
        models = {id(one): one for one in (self._default, *self._by_prefix.values())}.values()
        await asyncio.gather(*(model.close() for model in models))


def open_models(
    provider: str,
    *,
    model: str | None,
    models: Mapping[str, str],
    base_url: str | None = None,
    api_key: str | None = None,
    effort: str | None = None,
    timeouts: Timeouts | None = None,
    around: Callable[[ChatModel], ChatModel] = lambda model: model,
) -> ChatModel:
    """Return the models of a run as one.

    Args:
        provider: of all of them, as `base_url`, `api_key`, `effort` and `timeouts`: see
            `open_model`.
        model: for all prompts that `models` does not name.
        models: names of models by beginnings of prompts' names, or by the word `small`.
        around: put around each of them: a price, a pause and a journal's key are one model's.

    Raises:
        BadUsage: something is missing or unknown; says which.
    """
    by_prefix = spelled_out(models)

    def opened(name: str | None) -> ChatModel:
        return around(
            open_model(
                provider,
                model=name,
                base_url=base_url,
                api_key=api_key,
                effort=effort,
                timeouts=timeouts,
            )
        )

    default = opened(model)
    others = {name: opened(name) for name in {*by_prefix.values()} - {model}}
    if not others:
        return default
    return PerPrompt(
        default, {prefix: others.get(name, default) for prefix, name in by_prefix.items()}
    )


def spelled_out(models: Mapping[str, str]) -> dict[str, str]:
    """Return the models by beginnings of prompts' names, without the word `small`.

    `small` gives way to every other name that fits a prompt.

    Raises:
        BadUsage: no prompt begins so; says which there are.
    """
    named = {prefix: model for prefix, model in models.items() if prefix != "small"}
    for prefix in named:
        if not any(prompt.startswith(prefix) for prompt in PROMPTS):
            raise BadUsage(
                f"`{prefix}` in the models by prompt is the beginning of no prompt; there are "
                f"{', '.join(sorted(PROMPTS))}, and `small` for {', '.join(SMALL)}"
            )
    if "small" not in models:
        return named
    rest = (prompt for prompt in SMALL if not prompt.startswith(tuple(named)))
    return dict.fromkeys(rest, models["small"]) | named


def open_model(
    provider: str,
    *,
    model: str | None,
    base_url: str | None = None,
    api_key: str | None = None,
    effort: str | None = None,
    timeouts: Timeouts | None = None,
) -> ChatModel:
    """Return a model that makes one attempt a call: what waits, counts or keeps wraps it.

    Args:
        provider: one of `PROVIDERS`.
        model: as the provider calls it.
        base_url: up to and with `/v1` for `openai` and `openai-compatible`, with `/v1beta` for
            `gemini`, without a version for `anthropic`; needed for `openai-compatible` only.
        api_key: not needed for `openai-compatible`.
        effort: how much a model that thinks shall think, in the provider's words; None: as little
            as it can, where that is known.
        timeouts: how long a call may take.

    Raises:
        BadUsage: something is missing or unknown; says which.
    """
    if not model:
        raise BadUsage(f"provider `{provider}` needs the name of a model: set TURNETL_LLM__MODEL")
    if provider in _NEED_A_KEY and not api_key and base_url is None:
        raise BadUsage(f"provider `{provider}` needs an API key: set TURNETL_LLM__API_KEY")
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise BadUsage("TURNETL_LLM__BASE_URL is no URL: it begins with http:// or https://")
    wire = _wire(provider, model, effort, base_url)
    opened = HttpModel(wire, api_key, timeouts=timeouts or Timeouts())
    return SchemaInPrompt(opened) if provider == "openai-compatible" else opened


def _wire(provider: str, model: str, effort: str | None, base_url: str | None) -> ProviderAdapter:
    match provider:
        case "openai":
            from turnetl.llm import openai

            return openai.OpenAi(model, base_url or openai.BASE_URL, effort)
        case "openai-compatible":
            from turnetl.llm.openai import OpenAiCompatible

            return OpenAiCompatible(model, _needed(base_url), effort)
        case "anthropic":
            from turnetl.llm import anthropic

            return anthropic.Anthropic(model, base_url or anthropic.BASE_URL, effort)
        case "gemini":
            from turnetl.llm import gemini

            return gemini.Gemini(model, base_url or gemini.BASE_URL, effort)
        case _:
            raise BadUsage(f"unknown provider `{provider}`; known are {', '.join(PROVIDERS)}")


def _needed(base_url: str | None) -> str:
    if base_url is None:
        raise BadUsage("provider `openai-compatible` needs a URL: set TURNETL_LLM__BASE_URL")
    return base_url
