"""The result of a check of a model."""

from dataclasses import dataclass

from turnetl.base.model import Usage


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One kind of request."""

    prompt_name: str
    model: str
    """Provider and model that received the request."""
    problem: str
    """The problem of the response, in a sentence; empty if there is none."""
    usage: Usage

    @property
    def passed(self) -> bool:
        return not self.problem
