"""Prefect's server, as `turnetl prefect` talks to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from httpx import codes
from prefect.client.orchestration import PrefectClient, get_client
from prefect.exceptions import PrefectHTTPStatusError
from prefect.settings import get_current_settings

from turnetl.base.errors import BadUsage, Retryable
from turnetl.base.object_url import without_credentials

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
_NO_API = (
    "{} is not the API of a Prefect server: correct PREFECT_API_URL, for example to "
    "http://127.0.0.1:4200/api, with `/api` at its end"
)


@asynccontextmanager
async def server_client() -> AsyncIterator[PrefectClient]:
    """Yield a client of the configured server.

    Raises:
        BadUsage: no server is configured, it is none of Prefect, or it refuses the login.
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
            await _check_api(client, without_credentials(str(url)))
            yield client
    except httpx.UnsupportedProtocol as error:
        raise BadUsage(_NO_API.format(without_credentials(str(url)))) from error
    except httpx.TransportError as error:
        raise Retryable(
            f"Prefect's server at {without_credentials(str(url))} did not respond "
            f"({type(error).__name__}): start it, or correct PREFECT_API_URL"
        ) from error


async def _check_api(client: PrefectClient, url: str) -> None:
    """Check that the URL is that of an API: without `/api` it is that of Prefect's UI."""
    try:
        await client.api_version()
    except PrefectHTTPStatusError as error:
        status = error.response.status_code
        if status in (codes.UNAUTHORIZED, codes.FORBIDDEN):
            raise BadUsage(
                f"Prefect's server at {url} refuses the login: correct PREFECT_API_AUTH_STRING"
            ) from error
        if codes.is_server_error(status):
            raise Retryable(f"Prefect's server at {url} failed (status {status})") from error
        raise BadUsage(_NO_API.format(url)) from error
    except ValueError as error:  # a page, not JSON
        raise BadUsage(_NO_API.format(url)) from error
