"""What a check of a model found."""

from dataclasses import dataclass

from turnetl.model import Usage


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One kind of call."""

    prompt: str
    model: str
    """Who was asked: provider and model."""
    problem: str
    """What the model cannot do, in a sentence; nothing if it can."""
    usage: Usage

    @property
    def fits(self) -> bool:
        return not self.problem
