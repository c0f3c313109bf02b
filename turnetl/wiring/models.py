"""The language model with all that stands around its calls, and the embedder."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from turnetl.errors import BadUsage
from turnetl.llm import prices as price_files
from turnetl.llm.budget import Budget
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import CachedEmbedder, open_embedder
from turnetl.llm.http import Timeouts
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter
from turnetl.llm.meter import Meter
from turnetl.llm.models import open_models
from turnetl.llm.port import Embedder
from turnetl.llm.prices import Prices
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap
from turnetl.settings import Settings

Clock = Callable[[], datetime]


JOURNAL = "journal.sqlite"
"""In the lake."""


@contextmanager
def shared(settings: Settings, clock: Clock) -> Iterator[ModelStack]:
    """Open what all models of this process share, and close it afterwards.

    A run that asks nobody touches no file for it.
    """
    around = _shared(settings, prices() if _costs(settings) else Prices())
    if not (settings.journal and is_asked(settings)):
        yield around
        return
    with journal(settings, clock) as kept:
        yield replace(around, journal=kept)


def journal(settings: Settings, clock: Clock) -> closing[Journal]:
    """Name the journal of the lake, and close it afterwards. Touches nothing by itself."""
    return closing(Journal(settings.lake / JOURNAL, clock=clock))


def is_asked(settings: Settings) -> bool:
    """Whether a run asks a language model."""
    return settings.extractor_name != "structural"


def prices() -> Prices:
    """Read the price files: the project's, the person's, the built-in one.

    Raises:
        BadUsage: one of them makes no sense; says where.
    """
    return price_files.read(*price_files.usual(Path.cwd(), Path.home()))


def model(settings: Settings, around: ModelStack | None = None) -> ChatModel:
    """Return the model that the settings name, or the models by prompt, as one.

    Args:
        settings: which provider, which model.
        around: what stands around its calls; None for a model that is only to be named.

    Raises:
        BadUsage: something is missing or unknown; says which.
    """
    chosen = settings.llm
    if chosen.provider == "none":
        raise BadUsage(
            "no model is named: set TURNETL_LLM__PROVIDER, TURNETL_LLM__MODEL and "
            "TURNETL_LLM__API_KEY; what needs none is `--extractor structural`"
        )
    return open_models(
        chosen.provider,
        model=chosen.model,
        models=chosen.models,
        base_url=chosen.base_url,
        api_key=chosen.api_key.get_secret_value() if chosen.api_key else None,
        effort=chosen.effort,
        timeouts=Timeouts(total=chosen.timeout_seconds),
        around=partial(wrap, shared=around) if around is not None else _alone,
    )


def check(settings: Settings) -> None:
    """See that the model can be asked as the settings say, without asking it.

    Raises:
        BadUsage: something is missing, or its price is not known and a budget needs it.
    """
    model(settings, _shared(settings, prices()))


@asynccontextmanager
async def embedder(
    settings: Settings, patience: RetryPolicy | None = None, meter: Meter | None = None
) -> AsyncIterator[Embedder]:
    """Open what makes vectors of texts, one for the whole process, and close it afterwards."""
    opened = CachedEmbedder(_embedder(settings, patience, meter))
    try:
        yield opened
    finally:
        await opened.close()


def _shared(settings: Settings, known: Prices) -> ModelStack:
    chosen, most = settings.llm, settings.budget
    meter = Meter(known)
    limited = most.tokens is not None or most.money is not None
    return ModelStack(
        journal=None,
        budget=Budget(most.tokens, most.money, meter, known) if limited else None,
        patience=RetryPolicy(),
        limiter=Limiter(chosen.requests_per_minute, chosen.tokens_per_minute, chosen.concurrency),
        meter=meter,
        parameters=chosen.effort or "",
    )


def _costs(settings: Settings) -> bool:
    """Whether a run asks somebody who may want money for it."""
    return is_asked(settings) or settings.embedder.provider != "local"


def _embedder(settings: Settings, patience: RetryPolicy | None, meter: Meter | None) -> Embedder:
    chosen = settings.embedder
    return open_embedder(
        chosen.provider,
        base_url=chosen.base_url,
        model=chosen.model,
        api_key=chosen.api_key.get_secret_value() if chosen.api_key else None,
        dimensions=chosen.dimensions,
        patience=patience,
        meter=meter,
    )


def _alone(asked: ChatModel) -> ChatModel:
    return asked
