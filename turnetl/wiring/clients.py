"""The language model with its stack (journal, budget, retries, limits), and the embedder."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from uuid import uuid4

from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.ingestion import held_lease
from turnetl.lake.shared_responses import ResponseFiles
from turnetl.llm.budget import Budget
from turnetl.llm.chat import ChatModel
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter, OwnLimits
from turnetl.llm.meter import Meter
from turnetl.llm.prices import PriceFile, Prices, load_prices
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap
from turnetl.settings import CONFIGURE_MODEL, Settings, trusted_project
from turnetl.settings.credentials import check_key_encrypted
from turnetl.trust.project_files import PRICES
from turnetl.wiring import limits
from turnetl.wiring.embedding import is_remote
from turnetl.wiring.tables import lake

JOURNAL = "journal.sqlite"
"""File name in the lake."""
_ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)
"""Whether a price is known does not depend on the time."""


@asynccontextmanager
async def model_stack(settings: Settings, clock: Clock) -> AsyncIterator[ModelStack]:
    """Open the resources that all models of this process share, and close it afterwards.

    A run without a model opens no file.
    """
    stack = _stack(settings, prices(clock()) if _may_cost(settings) else Prices())
    if not settings.uses_model:
        yield stack
        return
    with journal(settings, clock) if settings.journal else nullcontext() as opened:
        async with limits.opened(settings, clock) as shared:
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
    project, file = trusted_project(), None
    if project is not None and PRICES in project.contents:
        file = PriceFile(project.folder / PRICES, project.contents[PRICES])
    return load_prices(file, Path.home(), at=at)


def model(settings: Settings, stack: ModelStack | None = None) -> ChatModel:
    """Return the configured model; several models by prompt are returned as one.

    Args:
        settings: provider, model and key.
        stack: wraps its requests; None for a model of which only the name is needed.

    Raises:
        BadUsage: a setting is missing or unknown, or a key would be sent unencrypted; names it.
    """
    llm = settings.llm
    if llm.provider == "none":
        raise BadUsage(f"no model is configured: {CONFIGURE_MODEL}")
    check_key_encrypted(settings, "llm")
    from turnetl.llm.providers.registry import open_models
    from turnetl.llm.transport.http import Timeouts

    return open_models(
        llm.provider,
        model=llm.model,
        models=llm.models,
        base_url=llm.base_url,
        api_key=llm.api_key.get_secret_value() if llm.api_key else None,
        effort=llm.effort,
        timeouts=Timeouts(total=llm.timeout_seconds),
        wrapper=partial(wrap, shared=stack) if stack is not None else _unwrapped,
    )


def check(settings: Settings) -> None:
    """Check that the model is fully configured. Sends no request.

    Raises:
        BadUsage: a setting is missing, or the budget is in dollars and the price is unknown.
    """
    model(settings, _stack(settings, prices(_ANY_TIME)))


def _stack(settings: Settings, prices: Prices) -> ModelStack:
    budget = settings.budget
    meter = Meter(prices)
    is_limited = budget.tokens is not None or budget.usd is not None
    return ModelStack(
        journal=None,
        budget=Budget(budget.tokens, budget.usd, meter, prices) if is_limited else None,
        retry_policy=RetryPolicy(),
        limiter=Limiter(OwnLimits(limits.configured(settings))),
        meter=meter,
        parameters=settings.llm.effort or "",
    )


def _may_cost(settings: Settings) -> bool:
    """Return whether a run sends requests that may cost money."""
    return settings.uses_model or is_remote(settings)


def _unwrapped(model: ChatModel) -> ChatModel:
    return model
