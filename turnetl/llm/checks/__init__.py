"""Checks of models: one small request of each kind, sent before a run; and their results."""

from dataclasses import dataclass
from typing import Annotated

from turnetl.base.model import Usage
from turnetl.base.results import INLINED, described


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The check of one prompt."""

    prompt_name: Annotated[str, described("Name of the prompt.", name="prompt")]
    model: Annotated[str, described("Provider and model.")]
    problem: str
    """The problem of the response, in a sentence; empty if there is none."""
    usage: Annotated[Usage, INLINED]

    @property
    def passed(self) -> Annotated[bool, described("Whether the model can complete the prompt.")]:
        return not self.problem

    @property
    @described("What the model cannot do; null if the check passed.", name="problem")
    def found_problem(self) -> str | None:
        return self.problem or None


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """The check of a model: one request for each prompt of a run."""

    checks: Annotated[tuple[CheckResult, ...], described("The checks, one per prompt.")]

    @property
    def passed(self) -> Annotated[bool, described("Whether all checks passed.")]:
        return all(check.passed for check in self.checks)

    @property
    def models(self) -> Annotated[list[str], described("The models that were checked, sorted.")]:
        return sorted({check.model for check in self.checks})

    @property
    def usage(self) -> Annotated[Usage, described("Usage of all checks.")]:
        return sum((check.usage for check in self.checks), Usage())
