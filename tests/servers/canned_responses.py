"""What a canned model says, by simple rules, so that any pipeline that asks the same gets the same.

Things stand in backticks, facts are sentences between two of them:

    `cart.py` uses `sqlite`.          a fact, USES
    `cart.py` no longer uses `sqlite`.  contradicts it
    `a` was split from `b` on 2026-01-02.  a fact with a date of its own
"""

import ast
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

Json = dict[str, Any]
Answers = Mapping[str, Callable[[str], Json]]
"""By the field that only this answer has, given the prompt."""


def between(prompt: str, *names: str) -> str:
    for name in names:
        if found := re.search(rf"<{name}>\n(.*?)\n</{name}>", prompt, re.DOTALL):
            return found[1]
    raise ValueError(f"no {names} in the prompt")


def _entities(prompt: str) -> Json:
    kinds = {
        kind["entity_type_name"]: kind["entity_type_id"]
        for kind in ast.literal_eval(between(prompt, "ENTITY TYPES"))
    }
    names = re.findall(r"`([^`]+)`", between(prompt, "CURRENT MESSAGE"))
    found = [
        {"name": name, "entity_type_id": kinds.get(_kind(name), 0), "episode_indices": [0]}
        for name in dict.fromkeys(names)
        if not name.startswith("!")
    ]
    return {"extracted_entities": found}


def _kind(name: str) -> str:
    if name.endswith(("Error", "Exception")):
        return "Error"
    return "File" if name.endswith((".py", ".toml")) else "Entity"


def _edges(prompt: str) -> Json:
    edges = []
    message = between(prompt, "CURRENT_MESSAGE")
    for fact, source, verb, target, date in _SENTENCE.findall(message):
        edges.append(
            {
                "source_entity_name": source.lstrip("!"),
                "target_entity_name": target.lstrip("!"),
                "relation_type": re.sub(r"\W+", "_", verb.strip()).upper(),
                "fact": fact.replace("`", "").replace("!", ""),
                "valid_at": f"{date}T00:00:00Z" if date else None,
                "invalid_at": None,
                "episode_indices": [0],
            }
        )
    return {"edges": edges}


_SENTENCE = re.compile(r"(`([^`]+)` ([a-z ]+) `([^`]+)`(?: on (\d{4}-\d\d-\d\d))?)\.")


def _resolutions(prompt: str) -> Json:
    new = json.loads(between(prompt, "ENTITIES"))
    old = json.loads(between(prompt, "EXISTING ENTITIES"))
    known = {_letters(one["name"]): one["candidate_id"] for one in reversed(old)}
    return {
        "entity_resolutions": [
            {
                "id": one["id"],
                "name": one["name"],
                "duplicate_candidate_id": known.get(_letters(one["name"]), -1),
            }
            for one in new
        ]
    }


def _duplicates(prompt: str) -> Json:
    existing = ast.literal_eval(between(prompt, "EXISTING FACTS"))
    others = ast.literal_eval(between(prompt, "FACT INVALIDATION CANDIDATES"))
    new = between(prompt, "NEW FACT").strip()
    ended = _letters(new.replace("no longer ", "")) if "no longer" in new else None
    return {
        "duplicate_facts": [f["idx"] for f in existing if _letters(f["fact"]) == _letters(new)],
        "contradicted_facts": [
            f["idx"] for f in [*existing, *others] if _letters(f["fact"]) == ended
        ],
    }


def _timestamps(prompt: str) -> Json:
    return {"valid_at": between(prompt, "REFERENCE TIME").strip(), "invalid_at": None}


def _summaries(prompt: str) -> Json:
    names = dict.fromkeys(re.findall(r'"name": "([^"]+)"', prompt))
    return {"summaries": [{"name": name, "summary": f"About {name}."} for name in names]}


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text).lower()


ANSWERS: Answers = {
    "extracted_entities": _entities,
    "edges": _edges,
    "entity_resolutions": _resolutions,
    "duplicate_facts": _duplicates,
    "summaries": _summaries,
    "valid_at": _timestamps,
    "missed_entities": lambda _: {"missed_entities": []},
    "missed_facts": lambda _: {"missed_facts": []},
}
