"""A check of whether a model can handle the requests of a run: one request of each kind.

The requests are Graphiti's, with its own prompts and schemas, about a text of two lines that leaves
little to interpret.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from graphiti_core.prompts.dedupe_edges import EdgeDuplicate
from graphiti_core.prompts.dedupe_nodes import NodeResolutions
from graphiti_core.prompts.extract_edges import EdgeTimestamps, ExtractedEdges
from graphiti_core.prompts.extract_nodes import ExtractedEntities
from graphiti_core.prompts.lib import ChatPromptLibrary, default_chat_prompt_library
from graphiti_core.prompts.models import Message
from graphiti_core.utils.maintenance.node_operations import _build_entity_types_context
from pydantic import BaseModel, ValidationError

from turnetl.base.errors import BadTurn, ModelBusy
from turnetl.llm import retry
from turnetl.llm.chat import ChatModel, ChatRequest, model_for
from turnetl.llm.checks import CheckResult
from turnetl.llm.graphiti import GraphitiModel

TypesByName = Mapping[str, type[BaseModel]]
ResponseT = TypeVar("ResponseT", bound=BaseModel)

SAMPLE_TEXT = "user: What does the cart keep its orders in?\nassistant: `cart.py` uses `sqlite`."
SAMPLE_TIME = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
SAMPLE_NAMES = ("cart.py", "sqlite")
SAMPLE_FACT = "cart.py uses sqlite."
_LONG = "\n".join(
    [SAMPLE_TEXT, *(f"Line {line} of the log is like the one before it." for line in range(2, 392))]
)
"""As long as a chunk of a turn may be, about 6,000 tokens, with everything relevant at its start:
some servers silently drop the start of a prompt that exceeds their context window."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    prompt_name: str
    """Or a text that begins with it."""
    run: Callable[[GraphitiModel], Awaitable[str]]
    """Sends the request and returns the problem of the response, empty if there is none. Raises
    pydantic's ValidationError if the response does not match its schema."""


def _requests(
    prompts: ChatPromptLibrary,
    entity_types: TypesByName | None,
    edge_types: TypesByName | None,
    instructions: str,
) -> Iterator[CheckRequest]:
    """Yield the requests that Graphiti's functions send, in the order of a turn."""
    yield _entities(prompts, entity_types, instructions, SAMPLE_TEXT)
    yield _resolutions(prompts)
    yield _edges(prompts, edge_types, instructions)
    yield _duplicates(prompts)
    yield _timestamps(prompts)
    if entity_type := _with_fields(entity_types):
        yield _attributes(prompts, entity_type)
    if edge_type := _with_fields(edge_types):
        yield _edge_attributes(prompts, edge_type)
    long = _entities(prompts, entity_types, instructions, _LONG)
    yield replace(long, prompt_name=f"{long.prompt_name} of a long turn")


def _request(
    prompt_name: str,
    messages: Callable[[], list[Message]],
    response_model: type[ResponseT],
    find_problem: Callable[[ResponseT], str],
    *,
    attributes: bool = False,
) -> CheckRequest:
    """Return a request as Graphiti sends it.

    The client appends to the messages: they are built for each request. Graphiti adds instructions
    to requests that extract attributes.
    """

    async def run(client: GraphitiModel) -> str:
        response = await client.generate_response(
            messages(), response_model, prompt_name=prompt_name, attribute_extraction=attributes
        )
        return find_problem(response_model.model_validate(response))

    return CheckRequest(prompt_name, run)


def check_of(
    request: ChatRequest,
    response_model: type[ResponseT],
    find_problem: Callable[[ResponseT], str],
) -> CheckRequest:
    """Return a check of a request that is not Graphiti's, as a run sends it; see `_request`."""
    return _request(
        request.prompt_name,
        lambda: [Message(role=one.role, content=one.text) for one in request.messages],
        response_model,
        find_problem,
    )


def _graphiti_request(
    prompts: ChatPromptLibrary,
    prompt_name: str,
    context: Mapping[str, Any],
    response_model: type[ResponseT],
    find_problem: Callable[[ResponseT], str] = lambda _: "",
    *,
    attributes: bool = False,
) -> CheckRequest:
    """Return a request with the prompt of that name, as `extract_edges.edge`."""
    group, name = prompt_name.split(".")
    build = getattr(getattr(prompts, group), name)
    return _request(
        prompt_name,
        lambda: build(dict(context)).as_messages(),
        response_model,
        find_problem,
        attributes=attributes,
    )


def _entities(
    prompts: ChatPromptLibrary, entity_types: TypesByName | None, instructions: str, text: str
) -> CheckRequest:
    types = _build_entity_types_context(dict(entity_types) if entity_types else None)
    context = {
        "episode_content": text,
        "episode_timestamp": SAMPLE_TIME.isoformat(),
        "previous_episodes": [],
        "custom_extraction_instructions": instructions,
        "entity_types": types,
        "source_description": "",
    }

    def find_problem(response: ExtractedEntities) -> str:
        found = [entity.name.lower() for entity in response.extracted_entities]
        if strange := [name for name in found if not _is_of(name, text)]:
            names = _quoted(strange[:2])
            return f"names {names}, which the text does not contain: see `extraction.prompts`"
        missing = [sample for sample in SAMPLE_NAMES if not any(sample in name for name in found)]
        if not found or missing:
            return f"does not find {_quoted(missing)}, which the text is about"
        type_ids = [entity.entity_type_id for entity in response.extracted_entities]
        if any(not 0 <= type_id < len(types) for type_id in type_ids):
            return "assigns an entity type that was not offered"
        return ""

    name = "extract_nodes.extract_message"
    return _graphiti_request(prompts, name, context, ExtractedEntities, find_problem)


def _resolutions(prompts: ChatPromptLibrary) -> CheckRequest:
    type_fields = {"entity_type": ["Entity"], "entity_type_description": "Default Entity Type"}
    known = {"entity_types": ["Entity"], "summary": ""}
    context = {
        "extracted_nodes": [
            {"id": index, "name": name} | type_fields for index, name in enumerate(SAMPLE_NAMES)
        ],
        "existing_nodes": [
            {"candidate_id": index, "name": name} | known
            for index, name in enumerate(("redis", "Cart.py"))
        ],
        "episode_content": SAMPLE_TEXT,
        "previous_episodes": [],
    }

    def find_problem(response: NodeResolutions) -> str:
        candidates = {
            resolution.id: resolution.duplicate_candidate_id
            for resolution in response.entity_resolutions
        }
        if set(candidates) != {0, 1}:
            return f"resolves entities with the ids {sorted(candidates)} instead of 0 and 1"
        if not set(candidates.values()) <= {-1, 0, 1}:
            return "names a candidate that does not exist"
        if candidates[0] != 1:
            return "does not resolve `Cart.py` to `cart.py`"
        return "resolves `sqlite` to another entity" if candidates[1] != -1 else ""

    return _graphiti_request(prompts, "dedupe_nodes.nodes", context, NodeResolutions, find_problem)


def _edges(
    prompts: ChatPromptLibrary, edge_types: TypesByName | None, instructions: str
) -> CheckRequest:
    context = {
        "episode_content": SAMPLE_TEXT,
        "nodes": [{"name": name, "entity_types": ["Entity"]} for name in SAMPLE_NAMES],
        "previous_episodes": [],
        "reference_time": SAMPLE_TIME,
        "edge_types": [
            {
                "fact_type_name": name,
                "fact_type_signatures": [("Entity", "Entity")],
                "fact_type_description": edge_type.__doc__,
            }
            for name, edge_type in (edge_types or {}).items()
        ],
        "strict_edge_types": False,
        "custom_extraction_instructions": instructions,
    }

    def find_problem(response: ExtractedEdges) -> str:
        endpoints = [
            name
            for edge in response.edges
            for name in (edge.source_entity_name, edge.target_entity_name)
        ]
        if not endpoints:
            return f"finds no fact, though the text says that {_quoted(SAMPLE_NAMES, ' uses ')}"
        if any(name.strip().lower() not in SAMPLE_NAMES for name in endpoints):
            return "names entities that the prompt does not contain"
        return ""

    return _graphiti_request(prompts, "extract_edges.edge", context, ExtractedEdges, find_problem)


def _duplicates(prompts: ChatPromptLibrary) -> CheckRequest:
    context = {
        "existing_edges": [{"idx": 0, "fact": SAMPLE_FACT}],
        "new_edge": "`cart.py` uses `sqlite`",
        "edge_invalidation_candidates": [{"idx": 1, "fact": "cart.py is written in Python."}],
    }

    def find_problem(response: EdgeDuplicate) -> str:
        if not {*response.duplicate_facts, *response.contradicted_facts} <= {0, 1}:
            return "names a fact that does not exist"
        if response.duplicate_facts != [0]:
            return "does not recognise a repeated fact"
        return "invalidates a fact that nothing contradicts" if response.contradicted_facts else ""

    return _graphiti_request(
        prompts, "dedupe_edges.resolve_edge", context, EdgeDuplicate, find_problem
    )


def _timestamps(prompts: ChatPromptLibrary) -> CheckRequest:
    context = {"fact": SAMPLE_FACT, "reference_time": SAMPLE_TIME.isoformat()}

    def find_problem(response: EdgeTimestamps) -> str:
        # An invalid time was removed already.
        return "" if response.valid_at else "returns no valid time for a fact that is true now"

    name = "extract_edges.extract_timestamps"
    return _graphiti_request(prompts, name, context, EdgeTimestamps, find_problem)


def _attributes(prompts: ChatPromptLibrary, entity_type: type[BaseModel]) -> CheckRequest:
    context = {
        "node": {"name": SAMPLE_NAMES[0], "entity_types": [entity_type.__name__], "attributes": {}},
        "episode_content": SAMPLE_TEXT,
        "previous_episodes": [],
    }
    name = "extract_nodes.extract_attributes"
    return _graphiti_request(prompts, name, context, entity_type, attributes=True)


def _edge_attributes(prompts: ChatPromptLibrary, edge_type: type[BaseModel]) -> CheckRequest:
    context = {"fact": SAMPLE_FACT, "reference_time": SAMPLE_TIME, "existing_attributes": {}}
    name = "extract_edges.extract_attributes"
    return _graphiti_request(prompts, name, context, edge_type, attributes=True)


def _with_fields(types: TypesByName | None) -> type[BaseModel] | None:
    return next((model for model in (types or {}).values() if model.model_fields), None)


def _is_of(name: str, text: str) -> bool:
    """Return whether a word of the name, in small letters, is in the text."""
    return any(word in text.lower() for word in re.findall(r"\w{3,}", name))


def _quoted(names: Sequence[str], separator: str = " and ") -> str:
    return separator.join(f"`{name}`" for name in names)


async def check(
    model: ChatModel,
    *,
    prompts: ChatPromptLibrary = default_chat_prompt_library,
    entity_types: TypesByName | None = None,
    edge_types: TypesByName | None = None,
    instructions: str | None = None,
    extra_requests: Iterable[CheckRequest] = (),
    max_items: Mapping[str, int] | None = None,
    on_result: Callable[[int, int], None] = lambda _done, _total: None,
) -> tuple[CheckResult, ...]:
    """Send one request of each kind, one after the other; types with fields have their own.

    The model has no journal: a cached response proves nothing. `extra_requests` are not Graphiti's.
    `max_items` are most entries of a response by name of its prompt. `on_result` gets the number of
    results so far, and of all.
    """
    graphiti = _requests(prompts, entity_types, edge_types, instructions or "")
    requests = [*graphiti, *extra_requests]
    results: list[CheckResult] = []
    for request in requests:
        on_result(len(results), len(requests))
        client = GraphitiModel(model, max_items)
        results.append(await _result(model, client, request))
    on_result(len(results), len(requests))
    return tuple(results)


async def _result(model: ChatModel, client: GraphitiModel, request: CheckRequest) -> CheckResult:
    model_name = model_for(model, request.prompt_name).name
    try:
        problem = await request.run(client)
    except ValidationError as error:
        problem = f"does not match the schema: {retry.describe_invalid(error)}"
    except BadTurn as error:
        problem = error.problem
    except ModelBusy as error:
        if not error.timed_out:
            raise
        problem = "did not respond in time: see `llm.timeout_seconds`"
    return CheckResult(request.prompt_name, model_name, problem, client.usage)
