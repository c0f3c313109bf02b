"""The embedder that the settings name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from turnetl.base.errors import BadUsage, GraphUnusable
from turnetl.base.graph_model import GroupProfile
from turnetl.llm.embedders import BUILT_IN, REMOTE, CachedEmbedder, Embedder, open_embedder
from turnetl.settings import Settings
from turnetl.settings.credentials import check_key_encrypted
from turnetl.settings.sections import EmbedderSettings

if TYPE_CHECKING:  # a search of a current index by the built-in embedder does without these
    from turnetl.llm.meter import Meter
    from turnetl.llm.retry import RetryPolicy


_MODEL_CACHE = Path(".cache", "turnetl", "models")
"""Folder in the home folder for downloaded embedding models, which all lakes share."""


@asynccontextmanager
async def embedder(
    settings: Settings, retry_policy: "RetryPolicy | None" = None, meter: "Meter | None" = None
) -> AsyncIterator[Embedder]:
    """Open the embedder of this process, with its cache, and close it afterwards."""
    opened = CachedEmbedder(_embedder(settings, retry_policy, meter))
    try:
        yield opened
    finally:
        await opened.close()


@asynccontextmanager
async def group_embedder(
    settings: Settings, profile: GroupProfile, purpose: str, meter: "Meter | None" = None
) -> AsyncIterator[Embedder]:
    """Open the embedder for texts of a group; `purpose` is the end of the error's sentence.

    Raises:
        GraphUnusable: the group was made with another one.
    """
    async with embedder(settings, meter=meter) as opened:
        if opened.name != profile.embedder:
            raise GraphUnusable(
                f"the group was made with embedder `{profile.embedder}`, not with "
                f"`{opened.name}`: use the first one {purpose}"
            )
        yield opened


def open_chosen_embedder(choice: str) -> Embedder:
    """Open an embedder that runs on this machine, as `embedder.provider` names it.

    Raises:
        BadUsage: it is not known, not installed, or on a server.
    """
    if choice in REMOTE:
        raise BadUsage(
            f"`{choice}` sends texts to a server: name it in the settings, as embedder.provider"
        )
    try:
        config = EmbedderSettings.model_validate({"provider": choice})
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise BadUsage(f"`{choice}` is no embedder: {reason}") from None
    cache = Path.home() / _MODEL_CACHE
    return CachedEmbedder(open_embedder(config.provider, model=config.model, cache=cache))


def is_remote(settings: Settings) -> bool:
    """Return whether texts are sent to the embedder."""
    return settings.embedder.provider in REMOTE


def is_built_in(settings: Settings) -> bool:
    """Return whether the embedder is the built-in one, which embeds thousands of texts a second."""
    return settings.embedder.provider == BUILT_IN


def _embedder(
    settings: Settings, retry_policy: "RetryPolicy | None", meter: "Meter | None"
) -> Embedder:
    config = settings.embedder
    if is_remote(settings):
        check_key_encrypted(settings, "embedder")
    return open_embedder(
        config.provider,
        base_url=config.base_url,
        model=config.model,
        api_key=config.api_key.get_secret_value() if config.api_key else None,
        dimensions=config.dimensions,
        retry_policy=retry_policy,
        meter=meter,
        cache=Path.home() / _MODEL_CACHE,
    )
