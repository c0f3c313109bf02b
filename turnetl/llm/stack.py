"""The wrappers of a model, from outside in: journals, retry, bound, budget, limiter, meter, HTTP.

Each wrapper is a model around a model and has one job. A run with several models has one stack per
model over the same shared objects: journal keys, prices and pauses belong to one model.
"""

from dataclasses import dataclass

from turnetl.base.model import Usage
from turnetl.llm.budget import Budget, BudgetedModel
from turnetl.llm.chat import ChatModel
from turnetl.llm.journal import Journal, JournaledModel
from turnetl.llm.journal.journaled_model import SharedModel, SharedResponses
from turnetl.llm.limiter import LimitedModel, Limiter
from turnetl.llm.loops import BoundedModel
from turnetl.llm.meter import Meter, MeteredModel
from turnetl.llm.retry import RetryingModel, RetryPolicy


@dataclass(frozen=True, slots=True)
class ModelStack:
    """The objects that all models of a process share. None omits the wrapper."""

    journal: Journal | None
    budget: Budget | None
    retry_policy: RetryPolicy
    limiter: Limiter
    meter: Meter | None
    parameters: str = ""
    """Parameters sent with every request. They are part of each journal key."""
    is_bounded: bool = False
    """Whether responses have the limit of their task: small models repeat themselves."""
    responses: SharedResponses | None = None
    """Responses of other machines, for a process with a journal."""

    def used(self) -> Usage:
        """Return the usage so far, of all requests to language models."""
        return self.meter.total if self.meter is not None else Usage()


def wrap(base: ChatModel, shared: ModelStack) -> ChatModel:
    """Return the model, which makes one attempt per request, with all its wrappers."""
    model = MeteredModel(base, shared.meter) if shared.meter is not None else base
    model = LimitedModel(model, shared.limiter)
    if shared.budget is not None:
        model = BudgetedModel(model, shared.budget)
    if shared.is_bounded:
        model = BoundedModel(model)
    model = RetryingModel(model, shared.retry_policy)
    if shared.journal is None:
        return model
    if shared.responses is not None:
        model = SharedModel(
            model,
            shared.responses,
            on_hit=shared.journal.count_hit,
            parameters=shared.parameters,
        )
    return JournaledModel(
        model,
        shared.journal,
        parameters=shared.parameters,
        is_sent=shared.limiter.has_sent,
    )
