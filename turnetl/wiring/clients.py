"""The language model with its stack: journal, budget, retries, and limits of its own or shared."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.graph import open as graphs
from turnetl.ingestion import held_lease
from turnetl.lake.shared_responses import ResponseFiles
from turnetl.llm.budget import Budget
from turnetl.llm.chat import ChatModel
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import AdmissionLimits, Limiter, ProviderLimits, Slots
from turnetl.llm.meter import Meter
from turnetl.llm.prices import PriceFile, Prices, load_prices
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.shared_limits import SharedLimits, own_limits
from turnetl.llm.shared_limits.store import LimitsStore, SqliteLimits
from turnetl.llm.stack import ModelStack, wrap
from turnetl.settings import CONFIGURE_MODEL, Settings, project_trust
from turnetl.settings.credentials import check_key_encrypted
from turnetl.trust.project_files import PRICES
from turnetl.wiring.embedding import is_remote
from turnetl.wiring.tables import lake

JOURNAL = "journal.sqlite"
"""File name in the lake."""
_LIMITS = "limits.sqlite"
"""File name in the lake."""
_DIGITS = 12
_ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)
"""Whether a price is known does not depend on the time."""


@asynccontextmanager
async def model_stack(settings: Settings, clock: Clock) -> AsyncIterator[ModelStack]:
    """Open the resources that all models of this process share, and close it afterwards.

    A run without a model opens no file.
    """
    may_cost = settings.uses_model or is_remote(settings)
    stack = _stack(settings, prices(clock()) if may_cost else Prices())
    if not settings.uses_model:
        yield stack
        return
    with journal(settings, clock) if settings.journal else nullcontext() as opened:
        async with _opened_limits(settings, clock) as shared:
            responses = shared_responses(settings)
            yield replace(stack, journal=opened, limiter=Limiter(shared), responses=responses)


def journal(settings: Settings, clock: Clock) -> closing[Journal]:
    """Return the journal of the lake, closed on exit. No file is touched before its first use."""
    owner = held_lease.owner_name(uuid4().hex)
    path = settings.lake / JOURNAL
    return closing(Journal(path, clock=clock, owner=owner, is_dead=held_lease.is_dead))


def shared_responses(settings: Settings) -> ResponseFiles | None:
    """Return the responses that the machines of a lake in an object store share; else None."""
    return ResponseFiles(lake(settings).files) if settings.lake_url is not None else None


def prices(at: datetime) -> Prices:
    """Return the prices of models: the files of a trusted project and of the user, the library's.

    Args:
        at: time of the run; some prices apply from a date on.

    Raises:
        BadUsage: a file is not valid; names the file and the line.
    """
    trust, file = project_trust(), None
    if trust.used is not None and PRICES in trust.used.contents:
        file = PriceFile(trust.folder / PRICES, trust.used.contents[PRICES])
    return load_prices(file, Path.home(), at=at, ignored=trust.ignored.get(PRICES))


def model(settings: Settings, stack: ModelStack | None = None) -> ChatModel:
    """Return the configured model; several models by prompt are returned as one.

    Args:
        stack: wraps its requests; None for a model of which only the name is needed.

    Raises:
        BadUsage: a setting is missing or unknown, or a key would be sent unencrypted; names it.
    """
    llm = settings.llm
    if llm.provider == "none":
        raise BadUsage(f"no model is configured: {CONFIGURE_MODEL}")
    check_key_encrypted(settings, "llm")
    from turnetl.llm.http import Timeouts
    from turnetl.llm.providers.registry import open_models

    return open_models(
        llm.provider,
        model=llm.model,
        models=llm.models,
        base_url=llm.base_url,
        api_key=llm.api_key.get_secret_value() if llm.api_key else None,
        effort=llm.effort,
        timeouts=Timeouts(total=llm.timeout_seconds),
        wrapper=partial(wrap, shared=stack) if stack is not None else lambda model: model,
    )


def check(settings: Settings) -> None:
    """Check the model's settings; a budget in dollars needs a known price. Sends no request."""
    model(settings, _stack(settings, prices(_ANY_TIME)))


def _stack(settings: Settings, prices: Prices) -> ModelStack:
    budget = settings.budget
    meter = Meter(prices)
    is_limited = budget.tokens is not None or budget.usd is not None
    return ModelStack(
        journal=None,
        budget=Budget(budget.tokens, budget.usd, meter, prices) if is_limited else None,
        retry_policy=RetryPolicy(),
        limiter=Limiter(Slots(settings.llm.concurrency)),
        meter=meter,
        parameters=settings.llm.effort or "",
        is_bounded=settings.llm.provider == "openai-compatible",
    )


@asynccontextmanager
async def _opened_limits(settings: Settings, clock: Clock) -> AsyncIterator[AdmissionLimits]:
    """Return the limits that the settings name, and return what is left of them afterwards.

    Touches no file and no server before the first request.
    """
    llm, name = settings.llm, shared_name(settings)
    limits = ProviderLimits(llm.requests_per_minute, llm.tokens_per_minute, llm.concurrency)
    opened = own_limits(limits, request_seconds=llm.timeout_seconds)
    if name is not None:
        opened = SharedLimits(
            _limits_store(settings, clock),
            name,
            limits,
            owner=held_lease.owner_name(uuid4().hex),
            is_dead=held_lease.is_dead,
            request_seconds=llm.timeout_seconds,
        )
    try:
        yield opened
    finally:
        await opened.close()


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


def _limits_store(settings: Settings, clock: Clock) -> LimitsStore:
    password = settings.graph_password
    server = graphs.server_limits(
        settings.graph_url,
        user=settings.graph_user,
        password=password.get_secret_value() if password else "",
        timeout_seconds=settings.graph_timeout_seconds,
    )
    return server or SqliteLimits(settings.lake / _LIMITS, clock=lambda: clock().timestamp())
