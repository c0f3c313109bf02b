"""A canned model that finds things and facts in any text, and whose mind hangs on a hair.

Whether a thing or a fact is a double of an earlier one is read from a digest over all that the
prompt lists, in its order: one candidate more, one less or two the other way round, and it answers
otherwise. Whether a fact is ended by a new one hangs on both and on its place in the list. It
retires facts readily.
"""

import ast
import json
import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from tests.servers import canned_responses
from tests.servers.canned_responses import Answers, Json

_THINGS = re.compile(
    r"`([^`\n]{2,48})`"
    r"|\b((?:[\w.-]+/)*[\w-]+\.(?:py|go|ts|tsx|js|md|json|toml|yml|sql|sh|html))\b"
    r"|\b([A-Z][a-z]+(?:[A-Z][a-z]+)+)\b"
    r"|\b([a-z]+(?:_[a-z]+)+)\b"
    r"|\b([A-Z][a-z]{4,})\b"
)
_MOST_THINGS = 5
_VERBS = ("uses", "modified", "failed with", "was resolved by", "depends on", "decided")
_KINDS = ("USES", "MODIFIED", "FAILED_WITH", "RESOLVED_BY", "DEPENDS_ON", "DECIDED", "NEEDS")
_NEAR = 60
"""Characters of the text that a fact quotes."""
_ENDS = 32
"""One candidate out of so many is ended by a new fact."""


def _entities(prompt: str) -> Json:
    kinds = len(ast.literal_eval(canned_responses.between(prompt, "ENTITY TYPES")))
    names = _things(canned_responses.between(prompt, "CURRENT MESSAGE"))
    found = [
        {"name": name, "entity_type_id": _number(name) % kinds, "episode_indices": [0]}
        for name in names
    ]
    return {"extracted_entities": found}


def _things(text: str) -> list[str]:
    found = (next(filter(None, match.groups())) for match in _THINGS.finditer(text))
    return list(dict.fromkeys(name.strip() for name in found if name.strip()))[:_MOST_THINGS]


def _edges(prompt: str) -> Json:
    text = canned_responses.between(prompt, "CURRENT_MESSAGE")
    names = [one["name"] for one in json.loads(canned_responses.between(prompt, "ENTITIES"))]
    pairs = [*pairwise(names), *zip(names, names[2:], strict=False)]
    return {"edges": [_edge(source, target, text) for source, target in pairs]}


def _edge(source: str, target: str, text: str) -> Json:
    number = _number(source, target, text)
    verb = _VERBS[number % len(_VERBS)]
    # A thing that nobody named before, now and then.
    target = f"{target} v{number % 5}" if number % 11 == 0 else target
    return {
        "source_entity_name": source,
        "target_entity_name": target,
        "relation_type": _KINDS[number % len(_KINDS)],
        "fact": f"{source} {verb} {target}: {_words_near(source, text, number)}",
        "valid_at": f"2025-{number % 12 + 1:02}-10T00:00:00Z" if number % 7 == 0 else None,
        "invalid_at": "2026-01-15T00:00:00Z" if number % 29 == 0 else None,
        "episode_indices": [0],
    }


def _words_near(name: str, text: str, number: int) -> str:
    start = max(text.find(name) + number % 90 - 30, 0)
    return " ".join(text[start : start + _NEAR].split())


def _resolutions(prompt: str) -> Json:
    new = json.loads(canned_responses.between(prompt, "ENTITIES"))
    old = json.loads(canned_responses.between(prompt, "EXISTING ENTITIES"))
    # Graphiti takes labels out of a set: they have no order.
    seen = json.dumps(
        [old_one | {"entity_types": sorted(old_one["entity_types"])} for old_one in old]
    )
    return {
        "entity_resolutions": [
            {
                "id": one["id"],
                "name": one["name"],
                "duplicate_candidate_id": _one_of(len(old), _number(one["name"], seen), share=4),
            }
            for one in new
        ]
    }


def _one_of(count: int, number: int, *, share: int) -> int:
    """Return one of so many in one case out of `share`, else -1."""
    return number // share % count if count and number % share == 0 else -1


def _duplicates(prompt: str) -> Json:
    existing = ast.literal_eval(canned_responses.between(prompt, "EXISTING FACTS"))
    others = ast.literal_eval(canned_responses.between(prompt, "FACT INVALIDATION CANDIDATES"))
    new = canned_responses.between(prompt, "NEW FACT")
    double = _one_of(len(existing), _number(new, _facts(existing)), share=3)
    return {
        "duplicate_facts": [existing[double]["idx"]] if double >= 0 else [],
        "contradicted_facts": [
            fact["idx"]
            for place, fact in enumerate([*existing, *others])
            if _number(new, fact["fact"], str(place)) % _ENDS == 0
        ],
    }


def _facts(facts: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps([fact["fact"] for fact in facts])


def _summaries(prompt: str) -> Json:
    entities = json.loads(canned_responses.between(prompt, "ENTITIES"))
    return {
        "summaries": [
            {"name": one["name"], "summary": f"{one['name']}, {_number(one['summary']):x}."}
            for one in entities
        ]
    }


def _number(*of: str) -> int:
    return int.from_bytes(blake2b("\0".join(of).encode(), digest_size=8).digest(), "big")


FINDING: Answers = {"extracted_entities": _entities, "edges": _edges}
"""What finds things in any text, to be put over other answers."""
ANSWERS: Answers = {
    **FINDING,
    "entity_resolutions": _resolutions,
    "duplicate_facts": _duplicates,
    "summaries": _summaries,
    "valid_at": canned_responses.ANSWERS["valid_at"],
}
