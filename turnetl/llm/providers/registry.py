"""From a provider's name to a model.

No provider's own client library is needed: each wire format is an adapter over HTTP, imported when
its provider is configured.
"""

from collections.abc import Callable, Mapping
from functools import partial

from turnetl.base.errors import BadUsage
from turnetl.llm.chat import ChatModel, PromptRouter, ProviderAdapter, expand_routes
from turnetl.llm.http import HttpModel, SchemaInPromptModel, Timeouts

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
    wrapper: Callable[[ChatModel], ChatModel] = lambda model: model,
) -> ChatModel:
    """Return the models of a run as one model; other arguments as of `open_model`.

    Args:
        model: for all prompts without an entry in `models`.
        models: model names by prefix of prompt names, or by `small`.
        wrapper: wraps each model: price, pause and journal keys belong to one model.
    """
    routes = expand_routes(models)
    open_bare = partial(
        open_model, provider, base_url=base_url, api_key=api_key, effort=effort, timeouts=timeouts
    )
    default = wrapper(open_bare(model=model))
    others = {name: wrapper(open_bare(model=name)) for name in {*routes.values()} - {model}}
    if not others:
        return default
    return PromptRouter(
        default, {prefix: others.get(name, default) for prefix, name in routes.items()}
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
    """Return a model that makes one attempt per request; its wrappers retry, count and cache.

    Args:
        provider: one of `PROVIDERS`.
        base_url: including `/v1` for `openai` and `openai-compatible`, including `/v1beta` for
            `gemini`, without a version for `anthropic`; required for `openai-compatible` only.
        api_key: not required for `openai-compatible`.
        effort: reasoning effort, as the provider names its levels; None: the lowest level, where
            it is known.

    Raises:
        BadUsage: a setting is missing or unknown; names it.
    """
    if not model:
        raise BadUsage(f"provider `{provider}` needs a model name: set TURNETL_LLM__MODEL")
    if provider in _NEED_A_KEY and not api_key and base_url is None:
        raise BadUsage(f"provider `{provider}` needs an API key: set TURNETL_LLM__API_KEY")
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise BadUsage(
            "TURNETL_LLM__BASE_URL is not a valid URL: it must begin with http:// or https://"
        )
    adapter = _adapter(provider, model, effort, base_url)
    opened = HttpModel(adapter, api_key, timeouts=timeouts or Timeouts())
    return SchemaInPromptModel(opened) if provider == "openai-compatible" else opened


def _adapter(
    provider: str, model: str, effort: str | None, base_url: str | None
) -> ProviderAdapter:
    match provider:
        case "openai":
            from turnetl.llm.providers import openai

            return openai.OpenAiAdapter(model, base_url or openai.BASE_URL, effort)
        case "openai-compatible":
            from turnetl.llm.providers.openai import OpenAiCompatibleAdapter

            return OpenAiCompatibleAdapter(model, _required(base_url), effort)
        case "anthropic":
            from turnetl.llm.providers import anthropic

            return anthropic.AnthropicAdapter(model, base_url or anthropic.BASE_URL, effort)
        case "gemini":
            from turnetl.llm.providers import gemini

            return gemini.GeminiAdapter(model, base_url or gemini.BASE_URL, effort)
        case _:
            raise BadUsage(f"unknown provider `{provider}`; known are {', '.join(PROVIDERS)}")


def _required(base_url: str | None) -> str:
    if base_url is None:
        raise BadUsage("provider `openai-compatible` needs a base URL: set TURNETL_LLM__BASE_URL")
    return base_url
