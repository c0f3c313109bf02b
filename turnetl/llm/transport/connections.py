"""Connections to one provider, as many as there were calls in flight at once."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property

import httpx

from turnetl.errors import ModelRefused


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a call may take. Seconds."""

    total: float = 120.0
    """From the first byte sent to the last one read."""
    connect: float = 10.0


class Connections:
    """As many as there were calls in flight at once: how many may be is the limiter's business.

    Each is a client of its own. One client looks through all its connections, and asks the system
    about them, for every call: at 16 that is half of a call's CPU.
    """

    def __init__(self, headers: Mapping[str, str], timeouts: Timeouts) -> None:
        self._headers = {"Content-Type": "application/json", **headers}
        # The time for an answer is kept over all of it, however many pieces it comes in.
        self._timeout = httpx.Timeout(None, connect=timeouts.connect)
        self._free: list[httpx.AsyncClient] = []
        self._closed = False

    @asynccontextmanager
    async def post(self, url: str, body: bytes) -> AsyncIterator[httpx.Response]:
        client = self._free.pop() if self._free else self._opened()
        try:
            async with client.stream("POST", url, content=body) as response:
                yield response
        finally:
            if self._closed:
                await client.aclose()
            else:
                self._free.append(client)

    async def close(self) -> None:
        """Close those that are free; the others close when their calls are over."""
        self._closed = True
        while self._free:
            await self._free.pop().aclose()

    def _opened(self) -> httpx.AsyncClient:
        try:
            return httpx.AsyncClient(
                headers=self._headers, timeout=self._timeout, limits=_ONE, verify=self._tls
            )
        except httpx.InvalidURL:
            # What is wrong with it may be the password in it.
            raise ModelRefused(
                "no connection can be opened: the environment names a proxy that is no URL"
            ) from None
        except (ValueError, ImportError, OSError) as error:
            # The environment names a proxy that is none, or certificates that are not there.
            raise ModelRefused(f"no connection can be opened: {error}") from error

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()


_ONE = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30)
