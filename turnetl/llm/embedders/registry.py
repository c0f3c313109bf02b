"""From a provider's name to an embedder."""

from turnetl.errors import BadUsage
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.embedders.wordllama import WordLlamaEmbedder
from turnetl.llm.meter import Meter
from turnetl.llm.retry import RetryPolicy

EMBEDDERS = ("local", "openai-compatible")


def open_embedder(
    provider: str,
    *,
    base_url: str | None = None,
    model: str | None = None,
    api_key: str | None = None,
    dimensions: int | None = None,
    patience: RetryPolicy | None = None,
    meter: Meter | None = None,
) -> Embedder:
    """Return an embedder; opens no connection yet.

    Args:
        provider: one of `EMBEDDERS`; `local` needs nothing else.
        base_url: up to and with `/v1`; None: OpenAI's own.
        model: as the provider calls it.
        api_key: where one is needed.
        dimensions: of the vectors; None: as the model gives them.
        patience: with a busy server; None: as with a model.
        meter: counts what is asked of a server, if it is there.

    Raises:
        BadUsage: something is missing or unknown; says which.
    """
    if provider == "local":
        return WordLlamaEmbedder()
    if provider != "openai-compatible":
        raise BadUsage(f"unknown embedder `{provider}`; known are {', '.join(EMBEDDERS)}")
    if not model:
        raise BadUsage(
            f"embedder `{provider}` needs the name of a model: set TURNETL_EMBEDDER__MODEL"
        )
    from turnetl.llm.embedders.openai_compatible import BASE_URL, OpenAiEmbedder  # noqa: PLC0415 - if named

    return OpenAiEmbedder(
        model,
        base_url or BASE_URL,
        api_key,
        dimensions=dimensions,
        patience=patience,
        meter=meter,
    )
