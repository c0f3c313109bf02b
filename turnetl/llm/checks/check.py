"""A check of whether a model can handle the requests of a run: one request of each kind.

The requests are Graphiti's, with its own prompts and schemas, about a text of two lines that leaves
little to interpret.
"""

from collections.abc import Iterable

from pydantic import ValidationError

from turnetl.base.errors import BadTurn
from turnetl.llm import validate
from turnetl.llm.chat import ChatModel
from turnetl.llm.checks import check_requests
from turnetl.llm.checks.check_requests import CheckRequest, TypesByName
from turnetl.llm.checks.result import CheckResult
from turnetl.llm.graphiti import GraphitiModel
from turnetl.llm.routing import PromptRouter

__all__ = ["CheckResult", "check"]


async def check(
    model: ChatModel,
    *,
    entity_types: TypesByName | None = None,
    edge_types: TypesByName | None = None,
    instructions: str | None = None,
    extra_requests: Iterable[CheckRequest] = (),
) -> tuple[CheckResult, ...]:
    """Send one request of each kind, one after the other.

    Args:
        model: without a journal: a cached response proves nothing.
        entity_types: of the run's ontology. Types with fields have requests of their own.
        edge_types: as `entity_types`.
        instructions: of the run.
        extra_requests: requests that are not Graphiti's.

    Raises:
        ModelUnusable: the user must act first: key, credit, model name.
        ModelBusy: no response after all retries.
    """
    requests = [
        *check_requests.graphiti_requests(entity_types, edge_types, instructions),
        *extra_requests,
    ]
    return tuple([await _result(model, request) for request in requests])


async def _result(model: ChatModel, request: CheckRequest) -> CheckResult:
    client, model_name = GraphitiModel(model), _model_name(model, request.prompt_name)
    try:
        problem = await request.run(client)
    except ValidationError as error:
        problem = f"does not match the schema: {validate.describe(error)}"
    except BadTurn as error:
        problem = error.problem
    return CheckResult(request.prompt_name, model_name, problem, client.usage)


def _model_name(model: ChatModel, prompt_name: str) -> str:
    return (model.model_for(prompt_name) if isinstance(model, PromptRouter) else model).name
