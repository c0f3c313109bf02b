"""Requests about single facts, and models that are asked about them together."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from graphiti_core.prompts.dedupe_edges import EdgeDuplicate

from tests.extraction.canned_model import CannedModel, ResponseRule
from turnetl.extraction.llm.clients import prompts_of
from turnetl.extraction.llm.fact_batches import SINGLE_PROMPT, FactBatches, fact_numbers
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse, response_schema

NO_OTHER: dict[str, list[int]] = {"duplicate_facts": [], "contradicted_facts": []}


def about(fact: str, known: Sequence[str] = ("a known fact",)) -> ChatRequest:
    """Return Graphiti's request about one fact."""
    context = {
        "new_edge": fact,
        "existing_edges": [{"idx": index, "fact": text} for index, text in enumerate(known)],
        "edge_invalidation_candidates": [],
    }
    messages = prompts_of("compact").dedupe_edges.resolve_edge(context).as_messages()
    return ChatRequest(
        SINGLE_PROMPT,
        (ChatMessage("system", messages[0].content), ChatMessage("user", messages[1].content)),
        response_schema(EdgeDuplicate),
        100,
    )


async def ask_together(
    rule: ResponseRule, requests: Sequence[ChatRequest]
) -> tuple[list[ChatResponse], CannedModel]:
    model = CannedModel(rule)
    batches = FactBatches(model)
    return await asyncio.gather(*map(batches.complete, requests)), model


async def outcomes(rule: ResponseRule, facts: Iterable[str]) -> list[ChatResponse | BaseException]:
    """Ask about the facts together; return the response about each, or its error."""
    batches = FactBatches(CannedModel(rule))
    asked = [batches.complete(about(fact)) for fact in facts]
    return await asyncio.gather(*asked, return_exceptions=True)


def answer_all(request: ChatRequest) -> dict[str, Any]:
    return {"fact_resolutions": [{"id": number, **NO_OTHER} for number in fact_numbers(request)]}
