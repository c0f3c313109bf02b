"""What stands around every call: journal, budget, retry, limiter, meter, and HTTP at the bottom.

Each is a model around a model, with one job. A run that asks several models has a stack for each of
them over the same shared things: a journal's keys, a price and a pause belong to one model.
"""

from dataclasses import dataclass

from turnetl.llm.budget import Budget, BudgetedModel
from turnetl.llm.chat import ChatModel
from turnetl.llm.journal import Journal, JournaledModel
from turnetl.llm.limiter import LimitedModel, Limiter
from turnetl.llm.meter import Meter, MeteredModel
from turnetl.llm.retry import RetryingModel, RetryPolicy


@dataclass(frozen=True, slots=True)
class ModelStack:
    """What all models of a process share, opened once. None leaves its wrapper out."""

    journal: Journal | None
    budget: Budget | None
    patience: RetryPolicy
    limiter: Limiter
    meter: Meter | None
    parameters: str = ""
    """What is said to every model in every call: another word on it is another request."""


def wrap(base: ChatModel, shared: ModelStack) -> ChatModel:
    """Return the model with all that stands around it.

    Args:
        base: makes one attempt a call, of one provider's model.
        shared: by all models of the process.

    Raises:
        BadUsage: the budget is one of money, and the model's price is not known.
    """
    model = MeteredModel(base, shared.meter) if shared.meter is not None else base
    model = RetryingModel(LimitedModel(model, shared.limiter), shared.patience)
    if shared.budget is not None:
        model = BudgetedModel(model, shared.budget)
    if shared.journal is None:
        return model
    return JournaledModel(
        model,
        shared.journal,
        parameters=shared.parameters,
        is_sent=shared.limiter.is_in_flight,
    )
