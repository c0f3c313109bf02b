"""Read the story and print what was asked and what came of it: a process of its own.

python -m tests.extraction.extraction_dump
"""

import asyncio
import sys
from typing import Any

from tests.extraction import sample_turns
from tests.extraction.canned_model import Canned
from tests.servers import order_sensitive_responses
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.episodes.chunking import split_in_half
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.prompt_config import fixed_prompt
from turnetl.llm.chat import ChatRequest
from turnetl.llm.journal import request_key


def say(question: ChatRequest) -> dict[str, Any]:
    """Answer by digests of all that is shown: what differs by a hair is answered otherwise."""
    assert question.schema is not None
    fields = question.schema.json["properties"]
    if question.prompt_name.startswith("reflexion."):
        return {"missed_entities": ["orders.py"], "missed_facts": ["orders.py is slow"]}
    return next(
        of(question.messages[-1].text)
        for name, of in order_sensitive_responses.RESPONDERS.items()
        if name in fields
    )


async def told() -> list[str]:
    """Return a line for each request, and for each thing and fact of the group."""
    model = Canned(say)
    asks = LlmExtractor(
        model,
        ToyEmbedder(),
        prompts=fixed_prompt("Look for what broke.", reflexion=1),
        split_text=split_in_half,
    )
    group = sample_turns.empty_group()
    await sample_turns.take_in(
        asks,
        [*sample_turns.episodes(), *sample_turns.episodes(sample_turns.SAID * 2)[6:]],
        group,
        ToyEmbedder(),
    )
    asked = sorted(
        f"{question.prompt_name} {request_key('m', question)}" for question in model.asked
    )
    return [*asked, *map(str, group.entities), *map(str, group.facts)]


if __name__ == "__main__":
    sys.stdout.write("\n".join(asyncio.run(told())))
