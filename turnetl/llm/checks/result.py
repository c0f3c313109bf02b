"""The result of a check of a model."""

from dataclasses import dataclass

from turnetl.model import Usage


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One kind of request."""

    prompt_name: str
    model: str
    """Provider and model that received the request."""
    problem: str
    """What the model cannot do, in a sentence; empty if it can."""
    usage: Usage

    @property
    def passed(self) -> bool:
        return not self.problem
