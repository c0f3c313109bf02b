"""The configured model, for a command that uses one only on request, whatever the extractor is."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.model import Usage
from turnetl.base.text import format_cost
from turnetl.llm.chat import ChatModel, model_for
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price, Prices
from turnetl.settings import Settings

log = logging.getLogger(__name__)


@asynccontextmanager
async def requested_model(
    settings: Settings, clock: Clock, *, purpose: str, alternative: str
) -> AsyncIterator[tuple[ChatModel, Meter]]:
    """Open the model with journal, budget and limits, and its meter; close it afterwards.

    Args:
        purpose: what the model does, as the beginning of a sentence.
        alternative: what a user without a model can do.
    """
    if settings.llm.provider == "none":
        raise BadUsage(
            f"{purpose} with a model, and none is configured: set TURNETL_LLM__PROVIDER, "
            f"TURNETL_LLM__MODEL and TURNETL_LLM__API_KEY, or {alternative}"
        )
    # With the extractor `structural` the journal would not be opened.
    with_model = settings.model_copy(update={"extractor": "llm"})
    async with wiring.model_stack(with_model, clock) as stack:
        model = wiring.model(with_model, stack)
        try:
            yield model, stack.meter or Meter(Prices())
        finally:
            await model.close()


def model_of_prompt(model: ChatModel, prompt: str, clock: Clock) -> tuple[str, Price | None]:
    """Return the name of the model that a prompt is sent to, and its price if that is known."""
    name = model_for(model, prompt).name
    return name, wiring.prices(clock()).find(name)


def warn_of_cost(what: str, model: str | None, estimate: Usage) -> None:
    """Log what the requests may cost, before the first of them; `what` leads to "about"."""
    log.warning(
        "asking `%s` for %s about %s tokens, cost %s; responses in the journal cost nothing",
        model,
        what,
        f"{estimate.tokens:,}",
        format_cost(estimate.cost),
    )
