"""What a canned model says to real turns: things and facts computed from the words of the turn.

Nothing but the turn decides, so that whoever asks, and whatever else stands in the prompt, the same
turns give the same facts. Names that turnetl leaves out as junk are not said, so that graphs can be
compared. The answers that match and summarise are those of the tests.
"""

import ast
import json
import re
from collections.abc import Callable, Mapping
from itertools import islice, pairwise
from typing import Any

from tests.servers import canned_responses
from turnetl.extraction import stoplist

Json = dict[str, Any]

_NAME = re.compile(
    r"`([^`\n]{3,60})`"
    r"|((?:[\w.-]+/)+[\w.-]+\.\w+|\b\w+\.(?:py|ts|tsx|go|rs|js|md|json|toml|yaml|yml|sh)\b)"
)
_ENTITIES, _FACTS = 9, 6
"""At most so many of a turn: as many as a model finds in one of two thousand characters."""


def _entities(prompt: str) -> Json:
    kinds = {
        kind["entity_type_name"]: kind["entity_type_id"]
        for kind in ast.literal_eval(canned_responses.between(prompt, "ENTITY TYPES"))
    }
    return {
        "extracted_entities": [
            {
                "name": name,
                "entity_type_id": kinds.get("File", 0) if "." in name else 0,
                "episode_indices": [0],
            }
            for name in _named(canned_responses.between(prompt, "CURRENT MESSAGE"))
        ]
    }


def _edges(prompt: str) -> Json:
    names = _named(canned_responses.between(prompt, "CURRENT_MESSAGE"))
    return {"edges": [_fact(*pair) for pair in list(pairwise(names))[:_FACTS]]}


def _fact(source: str, target: str) -> Json:
    return {
        "source_entity_name": source,
        "target_entity_name": target,
        "relation_type": "USES",
        "fact": f"{source} was worked on together with {target}",
        "valid_at": None,
        "invalid_at": None,
        "episode_indices": [0],
    }


def _named(text: str) -> list[str]:
    found = ((match[1] or match[2]).strip() for match in _NAME.finditer(text))
    # What is the same to Graphiti shall come once.
    once = {" ".join(name.lower().split()): name for name in found if name}
    why = stoplist.reasons(list(once.values()))
    kept = (name for name, reason in zip(once.values(), why, strict=True) if reason is None)
    return list(islice(kept, _ENTITIES))


ANSWERS: Mapping[str, Callable[[str], Json]] = {
    **canned_responses.ANSWERS,
    "extracted_entities": _entities,
    "edges": _edges,
}
"""By the field that only this answer has, given the prompt."""


def say(fields: set[str], prompt: str) -> str:
    """Return the answer to a prompt whose schema has these fields."""
    answer = next((answer for name, answer in ANSWERS.items() if name in fields), None)
    return json.dumps(answer(prompt) if answer else {})
