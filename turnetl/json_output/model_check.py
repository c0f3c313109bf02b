"""`turnetl model check --json`."""

from collections.abc import Sequence
from typing import Annotated

from turnetl.base.model import Usage
from turnetl.base.results import JsonOutput, described
from turnetl.json_output.usage import UsageOutput, usage_output, usage_values
from turnetl.llm.checks.result import CheckResult


class CheckOutput(UsageOutput):
    """The check of one prompt."""

    prompt: Annotated[str, described("Name of the prompt.")]
    model: Annotated[str, described("Provider and model.")]
    passed: Annotated[bool, described("Whether the model can complete the prompt.")]
    problem: Annotated[str | None, described("What the model cannot do; null if the check passed.")]


class ModelCheckOutput(JsonOutput):
    """The check of a model: one request for each prompt of a run."""

    passed: Annotated[bool, described("Whether all checks passed.")]
    models: Annotated[list[str], described("The models that were checked, sorted.")]
    usage: Annotated[UsageOutput, described("Usage of all checks.")]
    checks: Annotated[list[CheckOutput], described("The checks, one per prompt.")]


def model_check_output(results: Sequence[CheckResult]) -> ModelCheckOutput:
    return ModelCheckOutput(
        passed=all(result.passed for result in results),
        models=sorted({result.model for result in results}),
        usage=usage_output(sum((result.usage for result in results), Usage())),
        checks=[
            CheckOutput(
                **usage_values(result.usage),
                prompt=result.prompt_name,
                model=result.model,
                passed=result.passed,
                problem=result.problem or None,
            )
            for result in results
        ],
    )
