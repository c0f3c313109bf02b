"""What names and summarises communities: the model that a backfill would use, or rules."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.model import Usage
from turnetl.base.text import format_cost, plural
from turnetl.llm.chat import ChatModel
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price
from turnetl.llm.routing import PromptRouter
from turnetl.pipeline.requested_model import requested_model
from turnetl.settings import Settings
from turnetl.summaries.communities.model_naming import (
    PROMPT,
    ModelCommunityWriter,
    estimate_usage,
)
from turnetl.summaries.communities.plan import CommunityPlan
from turnetl.summaries.communities.port import CommunityWriter
from turnetl.summaries.communities.rule_naming import RuleCommunityWriter

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelOfCommunities:
    """The model, its price and its meter."""

    model: ChatModel
    """The one of the prompt, if there are several."""
    price: Price | None
    meter: Meter


@dataclass(frozen=True, slots=True)
class OpenedWriter:
    """A writer, with what it costs."""

    writer: CommunityWriter
    used: ModelOfCommunities | None = None
    """None: rules describe communities."""

    @property
    def model(self) -> str | None:
        return None if self.used is None else self.used.model.name

    @property
    def meter(self) -> Meter | None:
        return None if self.used is None else self.used.meter

    @property
    def usage(self) -> Usage:
        """What was used so far."""
        return Usage() if self.used is None else self.used.meter.total

    @property
    def by_rules(self) -> int:
        """Communities that the model should have described and rules did."""
        return self.writer.missing if isinstance(self.writer, ModelCommunityWriter) else 0

    def estimate(self, plan: CommunityPlan) -> Usage:
        """Return what the plan would use if no response is in the journal."""
        return Usage() if self.used is None else estimate_usage(plan.missing, self.used.price)

    def state_cost(self, plan: CommunityPlan) -> None:
        """Say what the requests of the plan may cost, before the first of them."""
        if self.used is None or not plan.missing:
            return
        estimate = self.estimate(plan)
        log.warning(
            "asking `%s` for the names and summaries of %s of group `%s`: %s, "
            "about %s tokens, cost %s; responses in the journal cost nothing",
            self.model,
            plural(len(plan.missing), "community", "communities"),
            plan.group,
            plural(estimate.calls, "request"),
            f"{estimate.tokens:,}",
            format_cost(estimate.cost),
        )


@asynccontextmanager
async def opened_writer(settings: Settings, clock: Clock) -> AsyncIterator[OpenedWriter]:
    """Open the writer, and close its model afterwards.

    Raises:
        BadUsage: the extractor uses a model, and none is configured.
    """
    if not settings.uses_model:
        yield OpenedWriter(RuleCommunityWriter())
        return
    async with requested_model(
        settings,
        clock,
        purpose="the extractor describes communities",
        alternative="use `--extractor structural`",
    ) as (model, meter):
        used = model.model_for(PROMPT) if isinstance(model, PromptRouter) else model
        price = wiring.prices(clock()).find(used.name)
        yield OpenedWriter(ModelCommunityWriter(model), ModelOfCommunities(used, price, meter))
