"""From a provider's name to a model, and from a prompt's name to one of several.

No provider's own library is used or needed: each format is a module of ours over HTTP, imported
when its provider is named.
"""

from collections.abc import Callable, Mapping

from turnetl.errors import BadUsage
from turnetl.llm.chat import ChatModel, ProviderAdapter
from turnetl.llm.routing import PromptRouter, expand_routes
from turnetl.llm.transport.http import HttpModel, Timeouts
from turnetl.llm.transport.schema_in_prompt import SchemaInPromptModel

PROVIDERS = ("openai", "openai-compatible", "anthropic", "gemini")

_NEED_A_KEY = ("openai", "anthropic", "gemini")


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
    by_prefix = expand_routes(models)

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
    return PromptRouter(
        default, {prefix: others.get(name, default) for prefix, name in by_prefix.items()}
    )


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
    return SchemaInPromptModel(opened) if provider == "openai-compatible" else opened


def _wire(provider: str, model: str, effort: str | None, base_url: str | None) -> ProviderAdapter:
    match provider:
        case "openai":
            from turnetl.llm.providers import openai

            return openai.OpenAiAdapter(model, base_url or openai.BASE_URL, effort)
        case "openai-compatible":
            from turnetl.llm.providers.openai import OpenAiCompatibleAdapter

            return OpenAiCompatibleAdapter(model, _needed(base_url), effort)
        case "anthropic":
            from turnetl.llm.providers import anthropic

            return anthropic.AnthropicAdapter(model, base_url or anthropic.BASE_URL, effort)
        case "gemini":
            from turnetl.llm.providers import gemini

            return gemini.GeminiAdapter(model, base_url or gemini.BASE_URL, effort)
        case _:
            raise BadUsage(f"unknown provider `{provider}`; known are {', '.join(PROVIDERS)}")


def _needed(base_url: str | None) -> str:
    if base_url is None:
        raise BadUsage("provider `openai-compatible` needs a URL: set TURNETL_LLM__BASE_URL")
    return base_url
