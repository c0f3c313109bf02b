"""Embedders: built in, models that run on this machine, over HTTP; and a cache around any.

What needs a tokenizer is imported on first use.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from turnetl.base.errors import BadUsage
from turnetl.base.lazy_exports import lazy_exports
from turnetl.llm.embedders.port import CachedEmbedder, Embedder

if TYPE_CHECKING:  # these import pydantic, numpy and the prices
    from turnetl.llm.embedders.static_model import WordLlamaEmbedder
    from turnetl.llm.meter import Meter
    from turnetl.llm.retry import RetryPolicy

__all__ = [
    "BUILT_IN",
    "EMBEDDERS",
    "REMOTE",
    "CachedEmbedder",
    "WordLlamaEmbedder",
    "open_embedder",
]

__getattr__ = lazy_exports(__name__, {"turnetl.llm.embedders.static_model": ("WordLlamaEmbedder",)})

BUILT_IN = "local"
EMBEDDERS = (BUILT_IN, "fastembed", "openai-compatible")
REMOTE = ("openai-compatible",)
"""Embedders that send texts to a server, which may cost money."""


def open_embedder(
    provider: str,
    *,
    base_url: str | None = None,
    model: str | None = None,
    api_key: str | None = None,
    dimensions: int | None = None,
    retry_policy: "RetryPolicy | None" = None,
    meter: "Meter | None" = None,
    cache: Path | None = None,
) -> Embedder:
    """Return an embedder; opens no connection yet.

    Args:
        provider: one of `EMBEDDERS`; `local` needs nothing else.
        base_url: including `/v1`; None: OpenAI's.
        model: the provider's name of the model; with `fastembed` also a folder.
        dimensions: of the vectors; None: the model's default.
        meter: counts the requests to a server.
        cache: folder of downloaded models, which `fastembed` needs.
    """
    if provider == BUILT_IN:
        from turnetl.llm.embedders.static_model import WordLlamaEmbedder  # noqa: PLC0415 - a tokenizer

        return WordLlamaEmbedder()
    if provider not in EMBEDDERS:
        raise BadUsage(f"unknown embedder `{provider}`; known are {', '.join(EMBEDDERS)}")
    if not model:
        raise BadUsage(f"embedder `{provider}` needs a model name: set TURNETL_EMBEDDER__MODEL")
    if provider == "fastembed":
        from turnetl.llm.embedders.fast_embed import FastEmbedEmbedder  # noqa: PLC0415 - an extra

        return FastEmbedEmbedder(model, cache or Path())
    from turnetl.llm.embedders.openai_compatible import BASE_URL, OpenAiEmbedder  # noqa: PLC0415

    return OpenAiEmbedder(
        model,
        base_url or BASE_URL,
        api_key,
        dimensions=dimensions,
        retry_policy=retry_policy,
        meter=meter,
    )
