"""Probable responses to the prompts with which a turn is resolved.

An entity is taken for the candidate of its name, else for new. A fact is taken for new, because
Graphiti asks only about facts that it does not know word by word, and for one that contradicts no
other.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from turnetl.extraction.llm import fact_batches
from turnetl.graph.mirror.group import folded
from turnetl.llm import retry
from turnetl.llm.ahead import Guesses
from turnetl.llm.chat import ChatRequest

_ENTITIES, _FACT, _FACTS = "dedupe_nodes.nodes", fact_batches.SINGLE_PROMPT, fact_batches.PROMPT
_NO_OTHER_FACT: Mapping[str, Any] = {"duplicate_facts": [], "contradicted_facts": []}
_NEW = -1
"""`duplicate_candidate_id` of an entity that is new."""


class ResolutionGuesses(Guesses):
    """Guesses of how entities and facts are resolved; none for other prompts."""

    def guess(self, request: ChatRequest) -> str | None:
        if request.prompt_name == _FACT:
            return json.dumps(_NO_OTHER_FACT)
        if request.prompt_name == _FACTS:
            return fact_batches.no_other_fact(request)
        if request.prompt_name != _ENTITIES:
            return None
        try:
            return json.dumps(_resolutions(request.messages[-1].text))
        except (ValueError, KeyError, TypeError):
            return None  # Another version of Graphiti writes the prompt in another way.

    def agrees(self, request: ChatRequest, guess: str, text: str) -> bool:
        try:
            return _effect(request, guess) == _effect(request, text)
        except (ValueError, KeyError, TypeError):
            return False


def _resolutions(prompt: str) -> Mapping[str, Any]:
    candidates: dict[str, int] = {}
    for candidate in json.loads(_section(prompt, "EXISTING ENTITIES")):
        candidates.setdefault(folded(candidate["name"]), candidate["candidate_id"])
    return {
        "entity_resolutions": [
            {
                "id": entity["id"],
                "name": entity["name"],
                "duplicate_candidate_id": candidates.get(folded(entity["name"]), _NEW),
            }
            for entity in json.loads(_section(prompt, "ENTITIES"))
        ]
    }


def _section(prompt: str, name: str) -> str:
    """Return the text between two delimiters, which occur nowhere else: texts are escaped."""
    found = re.search(rf"<{name}>\n(.*?)\n</{name}>", prompt, re.DOTALL)
    if found is None:
        raise ValueError(f"the prompt has no section {name}")
    return found[1]


def _effect(request: ChatRequest, response: str) -> object:
    """Return what Graphiti reads from a response."""
    text = retry.strip_wrapping(response)
    if request.prompt_name == _FACTS:
        of_facts = fact_batches.responses_by_fact(text, len(fact_batches.fact_numbers(request)))
        return {number: _effect_of_fact(json.loads(one)) for number, one in of_facts.items()}
    parsed = retry.parse_object(text)
    if request.prompt_name == _FACT:
        return _effect_of_fact(parsed)
    found: dict[int, int] = {}
    for one in parsed["entity_resolutions"]:
        found.setdefault(one["id"], max(one["duplicate_candidate_id"], _NEW))
    return found


def _effect_of_fact(resolution: Mapping[str, Any]) -> object:
    # Of several duplicates the first counts.
    return resolution["duplicate_facts"][:1], sorted(set(resolution["contradicted_facts"]))
