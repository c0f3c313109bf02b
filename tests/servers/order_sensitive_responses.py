"""Responses of a fake model that extracts entities and facts from any text, sensitive to order.

A digest of everything that the prompt lists, in its order, decides whether an entity or a fact is a
duplicate of an earlier one: one candidate more, one less or two in another order change the
response. Whether a new fact invalidates another depends on both and on the position in the list.
Many facts are invalidated.
"""

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from tests.servers import canned_responses
from tests.servers.canned_responses import Json, Responders

_ENTITY_NAME = re.compile(
    r"`([^`\n]{2,48})`"
    r"|\b((?:[\w.-]+/)*[\w-]+\.(?:py|go|ts|tsx|js|md|json|toml|yml|sql|sh|html))\b"
    r"|\b([A-Z][a-z]+(?:[A-Z][a-z]+)+)\b"
    r"|\b([a-z]+(?:_[a-z]+)+)\b"
    r"|\b([A-Z][a-z]{4,})\b"
)
_MAX_ENTITIES = 5
_VERBS = ("uses", "modified", "failed with", "was resolved by", "depends on", "decided")
_RELATIONS = ("USES", "MODIFIED", "FAILED_WITH", "RESOLVED_BY", "DEPENDS_ON", "DECIDED", "NEEDS")
_QUOTED = 60
"""Characters of the text in a fact."""
_INVALIDATED = 32
"""A new fact invalidates one candidate out of this many."""


def _entities(prompt: str) -> Json:
    type_count = len(canned_responses.literal(prompt, "ENTITY TYPES"))
    names = _entity_names(canned_responses.between(prompt, "CURRENT MESSAGE"))
    entities = [
        {"name": name, "entity_type_id": number_of(name) % type_count, "episode_indices": [0]}
        for name in names
    ]
    return {"extracted_entities": entities}


def _entity_names(text: str) -> list[str]:
    names = (next(filter(None, match.groups())) for match in _ENTITY_NAME.finditer(text))
    return list(dict.fromkeys(name.strip() for name in names if name.strip()))[:_MAX_ENTITIES]


def _edges(prompt: str) -> Json:
    text = canned_responses.between(prompt, "CURRENT_MESSAGE")
    entities = json.loads(canned_responses.between(prompt, "ENTITIES"))
    names = [entity["name"] for entity in entities]
    pairs = [*pairwise(names), *zip(names, names[2:], strict=False)]
    return {"edges": [_edge(source, target, text) for source, target in pairs]}


def _edge(source: str, target: str, text: str) -> Json:
    number = number_of(source, target, text)
    verb = _VERBS[number % len(_VERBS)]
    # Sometimes an entity that was not extracted.
    target = f"{target} v{number % 5}" if number % 11 == 0 else target
    return {
        "source_entity_name": source,
        "target_entity_name": target,
        "relation_type": _RELATIONS[number % len(_RELATIONS)],
        "fact": f"{source} {verb} {target}: {_quote(source, text, number)}",
        "valid_at": f"2025-{number % 12 + 1:02}-10T00:00:00Z" if number % 7 == 0 else None,
        "invalid_at": "2026-01-15T00:00:00Z" if number % 29 == 0 else None,
        "episode_indices": [0],
    }


def _quote(name: str, text: str, number: int) -> str:
    start = max(text.find(name) + number % 90 - 30, 0)
    return " ".join(text[start : start + _QUOTED].split())


def _resolutions(prompt: str) -> Json:
    new = json.loads(canned_responses.between(prompt, "ENTITIES"))
    existing = json.loads(canned_responses.between(prompt, "EXISTING ENTITIES"))
    # Graphiti reads the labels from a set: their order is random. The same extraction may write
    # other summaries.
    candidates = json.dumps(
        [
            entity | {"entity_types": sorted(entity["entity_types"]), "summary": ""}
            for entity in existing
        ]
    )
    return {
        "entity_resolutions": [
            {
                "id": entity["id"],
                "name": entity["name"],
                "duplicate_candidate_id": _pick(
                    len(existing), number_of(entity["name"], candidates), share=4
                ),
            }
            for entity in new
        ]
    }


def _pick(count: int, number: int, *, share: int) -> int:
    """Return an index below `count` in one case out of `share`, else -1."""
    return number // share % count if count and number % share == 0 else -1


def _duplicates(prompt: str) -> Json:
    existing = canned_responses.literal(prompt, "EXISTING FACTS")
    others = canned_responses.literal(prompt, "FACT INVALIDATION CANDIDATES")
    new = canned_responses.between(prompt, "NEW FACT")
    duplicate = _pick(len(existing), number_of(new, _facts(existing)), share=3)
    return {
        "duplicate_facts": [existing[duplicate]["idx"]] if duplicate >= 0 else [],
        "contradicted_facts": [
            fact["idx"]
            for index, fact in enumerate([*existing, *others])
            if number_of(new, fact["fact"], str(index)) % _INVALIDATED == 0
        ],
    }


def _facts(facts: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps([fact["fact"] for fact in facts])


def _summaries(prompt: str) -> Json:
    entities = json.loads(canned_responses.between(prompt, "ENTITIES"))
    return {
        "summaries": [
            {
                "name": entity["name"],
                "summary": f"{entity['name']}, {number_of(entity['summary']):x}.",
            }
            for entity in entities
        ]
    }


def number_of(*texts: str) -> int:
    """Return a number that depends on all the texts; the same in every process."""
    return int.from_bytes(blake2b("\0".join(texts).encode(), digest_size=8).digest(), "big")


EXTRACTION_RESPONDERS: Responders = {"extracted_entities": _entities, "edges": _edges}
"""Extraction from any text, to be combined with other responders."""
RESPONDERS: Responders = {
    **EXTRACTION_RESPONDERS,
    "entity_resolutions": _resolutions,
    "duplicate_facts": _duplicates,
    "summaries": _summaries,
    "valid_at": canned_responses.RESPONDERS["valid_at"],
}
