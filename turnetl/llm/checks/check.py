"""Whether a model can do what a run asks of it: one call of each kind, before the run.

The calls are Graphiti's, with its own prompts and forms, about a text of two lines in which there
is little to miss.
"""

from collections.abc import Iterable

from pydantic import ValidationError

from turnetl.errors import BadTurn
from turnetl.llm import validate
from turnetl.llm.chat import ChatModel
from turnetl.llm.checks import probes
from turnetl.llm.checks.probes import ModelProbe, TypesByName
from turnetl.llm.checks.result import CheckResult
from turnetl.llm.graphiti import GraphitiModel
from turnetl.llm.routing import PromptRouter

__all__ = ["CheckResult", "check"]


async def check(
    model: ChatModel,
    *,
    things: TypesByName | None = None,
    facts: TypesByName | None = None,
    instructions: str | None = None,
    more: Iterable[ModelProbe] = (),
) -> tuple[CheckResult, ...]:
    """Ask once for each kind of call, one after the other.

    Args:
        model: with nothing around it that keeps answers: an answer out of a journal says nothing.
        things: kinds of things that a run would look for. Those with fields have calls of their
            own.
        facts: kinds of facts, as `things`.
        instructions: that a run would give.
        more: calls that are not Graphiti's.

    Raises:
        ModelRefused: a person must act first: a key, credit, the model's name.
        ModelBusy: no answer.
    """
    asked = [*probes.run_probes(things, facts, instructions), *more]
    return tuple([await _checked(model, trial) for trial in asked])


async def _checked(model: ChatModel, trial: ModelProbe) -> CheckResult:
    turn, asked = GraphitiModel(model), _asked(model, trial.prompt)
    try:
        problem = await trial.run(turn)
    except ValidationError as error:
        problem = f"does not keep to the schema: {validate.describe(error)}"
    except BadTurn as error:
        problem = _problem(str(error), asked)
    return CheckResult(trial.prompt, asked, problem, turn.usage)


def _problem(said: str, model: str) -> str:
    """Return what went wrong without what stands beside it: who was asked, and what."""
    who, _, what = said.partition("` ")
    if who != f"model `{model}" or not what.startswith("answered `"):
        return said
    return "answered " + what.removeprefix("answered `").partition("` ")[2]


def _asked(model: ChatModel, prompt: str) -> str:
    return (model.of(prompt) if isinstance(model, PromptRouter) else model).name
