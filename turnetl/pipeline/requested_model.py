"""The configured model, for a command that uses one only on request, whatever the extractor is."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.llm.chat import ChatModel
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Prices
from turnetl.settings import Settings


@asynccontextmanager
async def requested_model(
    settings: Settings, clock: Clock, *, purpose: str, alternative: str
) -> AsyncIterator[tuple[ChatModel, Meter]]:
    """Open the model with journal, budget and limits, and its meter; close it afterwards.

    Args:
        settings: provider, model, key and budget.
        clock: returns the current time, for the journal.
        purpose: what the model does, as the beginning of a sentence.
        alternative: what a user without a model can do.

    Raises:
        BadUsage: no model is configured, or not completely.
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
