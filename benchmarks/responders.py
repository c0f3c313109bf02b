"""Responses of a fake model to real turns: entities and facts computed from the text of the turn.

Only the turn determines them, so that the same turns give the same facts in any pipeline and with
any other content of the prompt. Names on turnetl's stoplist are not used, so that graphs can be
compared. Resolutions and summaries are those of the tests.
"""

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
_MAX_ENTITIES, _MAX_FACTS = 9, 6
"""Per turn: as many as a model extracts from two thousand characters."""


def _entities(prompt: str) -> Json:
    type_ids = {
        entity_type["entity_type_name"]: entity_type["entity_type_id"]
        for entity_type in canned_responses.literal(prompt, "ENTITY TYPES")
    }
    return {
        "extracted_entities": [
            {
                "name": name,
                "entity_type_id": type_ids.get("File", 0) if "." in name else 0,
                "episode_indices": [0],
            }
            for name in _names(canned_responses.between(prompt, "CURRENT MESSAGE"))
        ]
    }


def _edges(prompt: str) -> Json:
    names = _names(canned_responses.between(prompt, "CURRENT_MESSAGE"))
    return {"edges": [_edge(*pair) for pair in list(pairwise(names))[:_MAX_FACTS]]}


def _edge(source: str, target: str) -> Json:
    return {
        "source_entity_name": source,
        "target_entity_name": target,
        "relation_type": "USES",
        "fact": f"{source} was worked on together with {target}",
        "valid_at": None,
        "invalid_at": None,
        "episode_indices": [0],
    }


def _names(text: str) -> list[str]:
    matches = ((match[1] or match[2]).strip() for match in _NAME.finditer(text))
    # Graphiti treats these spellings as one entity: use one of them.
    names = {" ".join(name.lower().split()): name for name in matches if name}
    reasons = stoplist.reasons(list(names.values()))
    allowed = (name for name, reason in zip(names.values(), reasons, strict=True) if reason is None)
    return list(islice(allowed, _MAX_ENTITIES))


RESPONDERS: Mapping[str, Callable[[str], Json]] = {
    **canned_responses.RESPONDERS,
    "extracted_entities": _entities,
    "edges": _edges,
}
"""Functions from a prompt to a response, by the field that only this response has."""
