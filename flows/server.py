"""Prefect's server, as `turnetl prefect` talks to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.settings import get_current_settings

from turnetl.errors import BadUsage, Retryable
from turnetl.report.next_command import without_credentials

FLOW_NAMES = (
    "backfill",
    "backfill-sharded",
    "migrate",
    "nightly",
    "rescue",
    "shard",
    "summarize",
)
MODEL_LIMIT = "turnetl-model"
"""The global concurrency limit that `turnetl prefect setup` creates."""


@asynccontextmanager
async def server_client() -> AsyncIterator[PrefectClient]:
    """Yield a client of the configured server.

    Raises:
        BadUsage: no server is configured.
        Retryable: it did not respond.
    """
    url = get_current_settings().api.url
    if url is None:
        raise BadUsage(
            "no Prefect server is configured: set PREFECT_API_URL, for example to "
            "http://127.0.0.1:4200/api"
        )
    try:
        async with get_client() as client:
            yield client
    except httpx.TransportError as error:
        raise Retryable(
            f"Prefect's server at {without_credentials(str(url))} did not respond "
            f"({type(error).__name__}): start it, or correct PREFECT_API_URL"
        ) from error
