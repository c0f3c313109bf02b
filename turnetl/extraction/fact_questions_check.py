"""The request of `turnetl model check` for the prompt about several facts, which Graphiti lacks."""

from graphiti_core.prompts.dedupe_edges import EdgeDuplicate

from turnetl.extraction.llm.compact_prompts import compact_prompts
from turnetl.extraction.llm.fact_questions import (
    SINGLE_PROMPT,
    FactResolutions,
    combined,
    question_ids,
)
from turnetl.llm.chat import ChatMessage, ChatRequest, response_schema
from turnetl.llm.checks.check_requests import SAMPLE_FACT, CheckRequest, check_of

_OTHER_FACT = "cart.py is written in Python."
_MAX_TOKENS = 8_192


def fact_questions_check() -> CheckRequest:
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

    questions = [_question("sqlite runs in the process of cart.py."), _question(SAMPLE_FACT)]
    return check_of(combined(questions), FactResolutions, find_problem)


def _question(fact: str) -> ChatRequest:
    known = SAMPLE_FACT if fact == SAMPLE_FACT else _OTHER_FACT
    context = {
        "existing_edges": [{"idx": 0, "fact": known}],
        "new_edge": fact,
        "edge_invalidation_candidates": [],
    }
    prompt = compact_prompts().dedupe_edges.resolve_edge(context)
    return ChatRequest(
        SINGLE_PROMPT,
        (ChatMessage("system", prompt.system.content), ChatMessage("user", prompt.user.content)),
        response_schema(EdgeDuplicate),
        _MAX_TOKENS,
    )
