"""What writes deferred summaries: the model that a backfill would use, or rules."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.model import GroupId, Usage
from turnetl.base.text import format_cost
from turnetl.llm.routing import PromptRouter
from turnetl.llm.stack import ModelStack
from turnetl.settings import Settings

if TYPE_CHECKING:  # imports numpy
    from turnetl.ingestion.turn_summaries import SummaryRules

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SummaryWriter:
    """How deferred summaries are written, with what it costs."""

    rules: "SummaryRules"
    model: str | None = None
    """Provider and model; None: rules write summaries."""
    stack: ModelStack | None = None
    """Of the model."""

    @property
    def usage(self) -> Usage:
        """What was used so far."""
        return Usage() if self.stack is None else self.stack.used()

    def state_cost(self, group: GroupId, count: int, estimate: Usage) -> None:
        """Say what the summaries of a group may cost, before the first request."""
        if estimate.calls:
            log.warning(
                "asking `%s` for summaries of group `%s`, %s: %s requests, about %s tokens, cost "
                "%s; responses in the journal cost nothing",
                self.model,
                group,
                f"{count:,}",
                f"{estimate.calls:,}",
                f"{estimate.tokens:,}",
                format_cost(estimate.cost),
            )


@asynccontextmanager
async def opened_summary_writer(settings: Settings, clock: Clock) -> AsyncIterator[SummaryWriter]:
    """Open the writer, and close its model afterwards.

    Raises:
        BadUsage: the extractor uses a model, and none is configured.
    """
    if not settings.uses_model:
        yield SummaryWriter(wiring.flush_rules(settings, None))
        return
    from turnetl.summaries.refresh_prompt import PROMPT  # noqa: PLC0415 - the models

    async with wiring.model_stack(settings, clock) as stack:
        model = wiring.model(settings, stack)
        used = model.model_for(PROMPT) if isinstance(model, PromptRouter) else model
        price = wiring.prices(clock()).find(used.name)
        try:
            yield SummaryWriter(wiring.flush_rules(settings, model, price), used.name, stack)
        finally:
            await model.close()
