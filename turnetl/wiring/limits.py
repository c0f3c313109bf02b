"""The limits of requests to the model: those of this process, or shared with others."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

from turnetl.base.clock import Clock
from turnetl.graph import open as graphs
from turnetl.ingestion import held_lease
from turnetl.llm.limiter import AdmissionLimits, OwnLimits, ProviderLimits
from turnetl.llm.shared_limits import LimitsStore, SharedLimits, SqliteLimits
from turnetl.settings import Settings

FILE = "limits.sqlite"
"""File name in the lake."""
_DIGITS = 12


@asynccontextmanager
async def opened(settings: Settings, clock: Clock) -> AsyncIterator[AdmissionLimits]:
    """Return the limits that the settings name, and return what is left of them afterwards.

    Touches no file and no server before the first request.
    """
    name = shared_name(settings)
    if name is None:
        yield OwnLimits(configured(settings))
        return
    shared = SharedLimits(
        _store(settings, clock),
        name,
        configured(settings),
        owner=held_lease.owner_name(uuid4().hex),
        is_dead=held_lease.is_dead,
        request_seconds=settings.llm.timeout_seconds,
    )
    try:
        yield shared
    finally:
        await shared.close()


def configured(settings: Settings) -> ProviderLimits:
    """Return the limits of the settings."""
    llm = settings.llm
    return ProviderLimits(llm.requests_per_minute, llm.tokens_per_minute, llm.concurrency)


def shared_name(settings: Settings) -> str | None:
    """Return the name under which processes share limits; None if this one has its own.

    The name is of provider, URL and model. It has nothing of a key: everyone who reads the graph
    could compare it. Two keys of one provider share limits unless the setting names them.
    """
    llm = settings.llm
    if llm.shared_limits == "none":
        return None
    if llm.shared_limits != "auto":
        return llm.shared_limits
    if llm.requests_per_minute is None and llm.tokens_per_minute is None:
        return None
    digest = sha256(_without_credentials(llm.base_url or "").encode()).hexdigest()[:_DIGITS]
    return f"auto {llm.provider} {llm.model} {digest}"


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", "")).lower()


def _store(settings: Settings, clock: Clock) -> LimitsStore:
    password = settings.graph_password
    server = graphs.server_limits(
        settings.graph_url,
        user=settings.graph_user,
        password=password.get_secret_value() if password else "",
        timeout_seconds=settings.graph_timeout_seconds,
    )
    return server or SqliteLimits(settings.lake / FILE, clock=lambda: clock().timestamp())
