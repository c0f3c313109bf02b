"""A pool of connections to one provider, as large as the number of requests in flight."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property

import httpx

from turnetl.base.errors import ModelUnusable

_PROXY_VARIABLES = "HTTP_PROXY, HTTPS_PROXY and ALL_PROXY"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts of one attempt, in seconds."""

    total: float = 120.0
    """From the first byte sent to the last byte read."""
    connect: float = 10.0


class Connections:
    """A pool without a limit of its own: the limiter bounds the requests in flight.

    Each connection is a client of its own. A single client would examine all its connections, with
    a system call for each, on every request: with 16 connections that is half of a request's CPU.
    """

    def __init__(
        self, headers: Mapping[str, str], timeouts: Timeouts, *, by_proxy: bool = True
    ) -> None:
        """Create a pool; opens no connection yet.

        Args:
            headers: of every request.
            timeouts: of one attempt.
            by_proxy: use the proxy that the environment names, if it names one.
        """
        self._by_proxy = by_proxy
        self._headers = {"Content-Type": "application/json", **headers}
        # The total timeout is enforced by the caller, over all chunks of a response.
        self._timeout = httpx.Timeout(None, connect=timeouts.connect)
        self._extensions = {"timeout": self._timeout.as_dict()}
        self._idle: list[httpx.AsyncClient] = []
        self._closed = False

    @asynccontextmanager
    async def post(self, url: httpx.URL, body: bytes) -> AsyncIterator[httpx.Response]:
        client = self._idle.pop() if self._idle else self._open()
        try:
            # The client would merge URL, headers, parameters and cookies again for each request.
            request = httpx.Request(
                "POST", url, headers=client.headers, content=body, extensions=self._extensions
            )
            response = await client.send(request, stream=True)
            try:
                yield response
            finally:
                await response.aclose()
        finally:
            if self._closed:
                await client.aclose()
            else:
                self._idle.append(client)

    async def close(self) -> None:
        """Close idle connections; the others close when their requests are done."""
        self._closed = True
        while self._idle:
            await self._idle.pop().aclose()

    def _open(self) -> httpx.AsyncClient:
        try:
            return httpx.AsyncClient(
                headers=self._headers,
                timeout=self._timeout,
                limits=_SINGLE,
                verify=self._tls,
                trust_env=self._by_proxy,
            )
        except httpx.InvalidURL:
            # The message omits the URL: it may contain a password.
            raise ModelUnusable(
                "cannot open a connection: the proxy in the environment is not a valid URL; "
                f"correct or unset {_PROXY_VARIABLES}"
            ) from None
        except (ValueError, ImportError, OSError) as error:
            # Invalid proxy, or missing certificate files, in the environment.
            raise ModelUnusable(
                f"cannot open a connection: {error}; check the proxy ({_PROXY_VARIABLES}) and the "
                "certificates (SSL_CERT_FILE, SSL_CERT_DIR) in the environment"
            ) from error

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()


_SINGLE = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30)
