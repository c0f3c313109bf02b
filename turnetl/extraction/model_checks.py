"""Requests of `turnetl model check` for prompts that Graphiti lacks: several facts, reflexion."""

from datetime import UTC, datetime

from graphiti_core.nodes import EntityNode, EpisodeType, EpisodicNode
from graphiti_core.prompts.dedupe_edges import EdgeDuplicate

from turnetl.extraction.config import PromptStyle
from turnetl.extraction.llm import reflexion
from turnetl.extraction.llm.clients import prompts_of
from turnetl.extraction.llm.fact_batches import (
    SINGLE_PROMPT,
    FactResolutions,
    combined_request,
    question_ids,
)
from turnetl.llm.chat import ChatMessage, ChatRequest, response_schema
from turnetl.llm.checks.check import (
    SAMPLE_FACT,
    SAMPLE_NAMES,
    SAMPLE_TEXT,
    SAMPLE_TIME,
    CheckRequest,
    check_of,
)
from turnetl.llm.graphiti import GraphitiModel

_MAX_TOKENS = 8_192


def fact_questions_check(style: PromptStyle) -> CheckRequest:
    """Return a request about two facts: the second repeats a fact that only its list has."""

    def find_problem(response: FactResolutions) -> str:
        by_id = {one.id: one for one in response.fact_resolutions}
        first, second = question_ids(2)
        if set(by_id) != {first, second}:
            return f"answers the questions {sorted(by_id)} instead of {first} and {second}"
        if [by_id[number].duplicate_facts for number in (first, second)] != [[], [0]]:
            return "does not answer each question by its own lists"
        is_consistent = not any(one.contradicted_facts for one in by_id.values())
        return "" if is_consistent else "invalidates a fact that nothing contradicts"

    questions = [
        _question("sqlite runs in the process of cart.py.", "cart.py is written in Python.", style),
        _question(SAMPLE_FACT, SAMPLE_FACT, style),
    ]
    return check_of(combined_request(questions), FactResolutions, find_problem)


def _question(fact: str, known: str, style: PromptStyle) -> ChatRequest:
    context = {
        "existing_edges": [{"idx": 0, "fact": known}],
        "new_edge": fact,
        "edge_invalidation_candidates": [],
    }
    prompt = prompts_of(style).dedupe_edges.resolve_edge(context)
    return ChatRequest(
        SINGLE_PROMPT,
        (ChatMessage("system", prompt.system.content), ChatMessage("user", prompt.user.content)),
        response_schema(EdgeDuplicate),
        _MAX_TOKENS,
    )


_GROUP = "check"
_CREATED_AT = datetime(2026, 1, 1, tzinfo=UTC)


def reflexion_requests() -> tuple[CheckRequest, ...]:
    """Return the calls of a reflexion pass, in its order."""
    return (
        CheckRequest("reflexion.entities", _entities),
        CheckRequest("reflexion.facts", _facts),
    )


async def _entities(model: GraphitiModel) -> str:
    missed = await reflexion.entities(model, _episode(), [], _nodes(SAMPLE_NAMES[0]))
    is_found = any(SAMPLE_NAMES[1] in name.lower() for name in missed)
    return "" if is_found else f"does not find `{SAMPLE_NAMES[1]}`, which is missing from the list"


async def _facts(model: GraphitiModel) -> str:
    missed = await reflexion.facts(model, _episode(), [], _nodes(*SAMPLE_NAMES), [])
    return "" if missed else "finds no fact, although the only one is missing from the list"


def _episode() -> EpisodicNode:
    return EpisodicNode(
        name="check",
        group_id=_GROUP,
        source=EpisodeType.message,
        source_description="",
        content=SAMPLE_TEXT,
        created_at=_CREATED_AT,
        valid_at=SAMPLE_TIME,
    )


def _nodes(*names: str) -> list[EntityNode]:
    return [EntityNode(name=name, group_id=_GROUP, created_at=_CREATED_AT) for name in names]
