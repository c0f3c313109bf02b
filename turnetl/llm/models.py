"""From a provider's name to a model."""

from turnetl.errors import BadUsage
from turnetl.llm.anthropic import Anthropic
from turnetl.llm.chat import Model, Wire
from turnetl.llm.gemini import Gemini
from turnetl.llm.http import HttpModel, Timeouts
from turnetl.llm.openai import OpenAi, OpenAiCompatible

PROVIDERS = ("openai", "openai-compatible", "anthropic", "gemini")

_NEED_A_KEY = ("openai", "anthropic", "gemini")


def open_model(
    provider: str,
    *,
    model: str | None,
    base_url: str | None = None,
    api_key: str | None = None,
    timeouts: Timeouts | None = None,
) -> Model:
    """Return a model that makes one attempt a call: what waits, counts or keeps wraps it.

    Args:
        provider: one of `PROVIDERS`.
        model: as the provider calls it.
        base_url: up to and with `/v1` for `openai` and `openai-compatible`, with `/v1beta` for
            `gemini`, without a version for `anthropic`; needed for `openai-compatible` only.
        api_key: not needed for `openai-compatible`.
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
    wire = _wire(provider, model, base_url)
    return HttpModel(wire, api_key, timeouts=timeouts or Timeouts())


def _wire(provider: str, model: str, base_url: str | None) -> Wire:
    where = {} if base_url is None else {"base_url": base_url}
    match provider:
        case "openai":
            return OpenAi(model, **where)
        case "anthropic":
            return Anthropic(model, **where)
        case "gemini":
            return Gemini(model, **where)
        case "openai-compatible" if base_url is None:
            raise BadUsage("provider `openai-compatible` needs a URL: set TURNETL_LLM__BASE_URL")
        case "openai-compatible":
            return OpenAiCompatible(model, **where)
        case _:
            raise BadUsage(f"unknown provider `{provider}`; known are {', '.join(PROVIDERS)}")
