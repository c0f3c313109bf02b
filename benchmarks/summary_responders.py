"""Responses of a fake model to real turns: many facts about few entities, and their summaries.

The entities are the largest of a project: every turn is about some of `HUBS` entities, and states
twenty facts that quote it. So the facts of an entity are soon too long to be its summary, and the
summaries are requested. Whether a fact repeats or invalidates another depends on all that a prompt
shows, in its order: one fact more or less, or another summary in a prompt, gives another graph. The
summary of an entity depends on what the request says about it alone; it has about 900 characters.
"""

import json
from itertools import pairwise

from tests.servers import canned_responses, order_sensitive_responses, summary_responses
from tests.servers.canned_responses import Json, Responders
from tests.servers.order_sensitive_responses import number_of

HUBS = ("cart", "checkout", "invoice", "parser", "scheduler", "session store")
_OF_A_TURN = 4
"""Entities that a turn is about."""
_OF_A_PAIR = 4
"""Facts about two entities that a turn states."""
_VERBS = ("uses", "reads", "was changed for", "depends on", "failed in", "is tested with")
_QUOTED, _SUMMARY_CHARS = 90, 900


def _entities(prompt: str) -> Json:
    type_count = len(canned_responses.literal(prompt, "ENTITY TYPES"))
    text = canned_responses.between(prompt, "CURRENT MESSAGE")
    names = sorted(HUBS, key=lambda name: number_of(name, text))[:_OF_A_TURN]
    return {
        "extracted_entities": [
            {"name": name, "entity_type_id": number_of(name) % type_count, "episode_indices": [0]}
            for name in names
        ]
    }


def _edges(prompt: str) -> Json:
    text = canned_responses.between(prompt, "CURRENT_MESSAGE")
    entities = json.loads(canned_responses.between(prompt, "ENTITIES"))
    names = [entity["name"] for entity in entities]
    pairs = [*pairwise(names), *zip(names, names[2:], strict=False)]
    return {
        "edges": [
            _edge(source, target, text, number)
            for source, target in pairs
            for number in range(_OF_A_PAIR)
        ]
    }


def _edge(source: str, target: str, text: str, number: int) -> Json:
    drawn = number_of(source, target, text, str(number))
    verb = _VERBS[drawn % len(_VERBS)]
    start = drawn % max(len(text) - _QUOTED, 1)
    quoted = " ".join(text[start : start + _QUOTED].split())
    return {
        "source_entity_name": source,
        "target_entity_name": target,
        "relation_type": verb.upper().replace(" ", "_"),
        "fact": f"{source} {verb} {target}: {quoted}",
        "valid_at": None,
        "invalid_at": None,
        "episode_indices": [0],
    }


def is_written_by_model(summary: str) -> bool:
    """Return whether a summary is as the model wrote it: facts that are added to it are lines."""
    return ", state " in summary and "\n" not in summary


def _summaries(prompt: str) -> Json:
    found = summary_responses.RESPONDERS["entity_summaries"](prompt)
    for one in found["entity_summaries"]:
        one["summary"] = (f"{one['summary']} " * _SUMMARY_CHARS)[:_SUMMARY_CHARS]
    return found


RESPONDERS: Responders = {
    **order_sensitive_responses.RESPONDERS,
    "extracted_entities": _entities,
    "edges": _edges,
    "entity_summaries": _summaries,
}
