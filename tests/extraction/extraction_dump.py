"""Extract the sample turns and print the requests and the resulting group, in its own process.

python -m tests.extraction.extraction_dump
"""

import asyncio
import sys
from typing import Any

from tests.extraction import sample_turns
from tests.extraction.canned_model import CannedModel, request_text
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers import order_sensitive_responses
from tests.servers.fact_questions import with_fact_questions
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.episodes.chunking import split_in_half
from turnetl.extraction.llm import LlmExtractor
from turnetl.llm.chat import ChatRequest
from turnetl.llm.journal import request_key


def respond(request: ChatRequest) -> dict[str, Any]:
    """Return a response that depends on a digest of the prompt: any difference changes it."""
    assert request.schema is not None
    fields = request.schema.json["properties"]
    if request.prompt_name.startswith("reflexion."):
        return {"missed_entities": ["orders.py"], "missed_facts": ["orders.py is slow"]}
    responders = with_fact_questions(order_sensitive_responses.RESPONDERS)
    return next(
        answer(request_text(request)) for name, answer in responders.items() if name in fields
    )


async def dump() -> list[str]:
    """Return a line for each request, and for each entity and fact of the group."""
    model = CannedModel(respond)
    extractor = LlmExtractor(
        model,
        ToyEmbedder(),
        prompts=fixed_prompt("Look for what broke.", reflexion=1),
        split_text=split_in_half,
    )
    group = sample_turns.empty_group()
    repeated = sample_turns.episodes(sample_turns.TURN_TEXTS * 2)[6:]
    turns = [*sample_turns.episodes(), *repeated]
    await sample_turns.ingest(extractor, turns, group, ToyEmbedder())
    requests = sorted(
        f"{request.prompt_name} {request_key('m', request)}" for request in model.requests
    )
    return [*requests, *map(str, group.entities), *map(str, group.facts)]


if __name__ == "__main__":
    sys.stdout.write("\n".join(asyncio.run(dump())))
