"""What stands around every call: journal, budget, retry, limiter, meter, and HTTP at the bottom.

Each is a model around a model. A run that asks several models has a stack for each of them, over
the same shared things: a journal's keys, a price and a pause belong to one model.
"""

from dataclasses import dataclass

from turnetl.llm.chat import Model
from turnetl.llm.limiter import Limited, Limiter
from turnetl.llm.retry import Patience, Retried


@dataclass(frozen=True, slots=True)
class Shared:
    """What all models of a process share, opened once. None leaves its wrapper out."""

    journal: None
    budget: None
    patience: Patience
    limiter: Limiter
    meter: None


def stacked(base: Model, shared: Shared) -> Model:
    """Return the model with all that stands around it.

    Args:
        base: makes one attempt a call, of one provider's model.
        shared: by all models of the process.
    """
    return Retried(Limited(base, shared.limiter), shared.patience)
