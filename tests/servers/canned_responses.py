"""Responses of a fake model by simple rules: equal requests of any pipeline get equal responses.

Entities are in backticks, facts are sentences between two of them:

    `cart.py` uses `sqlite`.          a fact, USES
    `cart.py` no longer uses `sqlite`.  contradicts it
    `a` was split from `b` on 2026-01-02.  a fact with its own date
"""

import ast
import json
import re
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

Json = dict[str, Any]
Responders = Mapping[str, Callable[[str], Json]]
"""Functions from a prompt to a response, by the field that only this response has."""


def between(prompt: str, *names: str) -> str:
    for name in names:
        if match := re.search(rf"<{name}>\n(.*?)\n</{name}>", prompt, re.DOTALL):
            return match[1]
    raise ValueError(f"no {names} in the prompt")


def items(prompt: str, name: str, number: str, text: str) -> list[Json]:
    """The entries between two delimiters, of Graphiti's prompts and of short ones."""
    if f"<{name}>" not in prompt:
        return []
    lines = re.findall(r"^(\d+): (.*)$", between(prompt, name), re.MULTILINE)
    if lines:
        return [{number: int(digits), text: said} for digits, said in lines]
    found: list[Json] = literal(prompt, name)
    return found


def literal(prompt: str, name: str) -> Any:
    """The JSON or Python value that Graphiti writes between two delimiters."""
    text = between(prompt, name)
    with _PARSER:
        try:
            return json.loads(text)
        except ValueError:
            return ast.literal_eval(text)


_PARSER = Lock()
"""Python 3.11 counts the depth of a syntax tree once for all threads: two that parse at the same
time may end with SystemError."""


def _entities(prompt: str) -> Json:
    type_ids = {
        entity_type["entity_type_name"]: entity_type["entity_type_id"]
        for entity_type in items(prompt, "ENTITY TYPES", "entity_type_id", "entity_type_name")
    }
    names = re.findall(r"`([^`]+)`", between(prompt, "CURRENT MESSAGE", "TEXT", "JSON"))
    entities = [
        {
            "name": name,
            "entity_type_id": type_ids.get(_entity_type(name), 0),
            "episode_indices": [0],
        }
        for name in dict.fromkeys(names)
        if not name.startswith("!")
    ]
    return {"extracted_entities": entities}


def _entity_type(name: str) -> str:
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
    new = items(prompt, "ENTITIES", "id", "name")
    existing = items(prompt, "EXISTING ENTITIES", "candidate_id", "name")
    candidates = {_letters(entity["name"]): entity["candidate_id"] for entity in reversed(existing)}
    return {
        "entity_resolutions": [
            {
                "id": entity["id"],
                "name": entity["name"],
                "duplicate_candidate_id": candidates.get(_letters(entity["name"]), -1),
            }
            for entity in new
        ]
    }


def _duplicates(prompt: str) -> Json:
    existing = items(prompt, "EXISTING FACTS", "idx", "fact")
    others = items(prompt, "FACT INVALIDATION CANDIDATES", "idx", "fact")
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


RESPONDERS: Responders = {
    "extracted_entities": _entities,
    "edges": _edges,
    "entity_resolutions": _resolutions,
    "duplicate_facts": _duplicates,
    "summaries": _summaries,
    "valid_at": _timestamps,
    "missed_entities": lambda _: {"missed_entities": []},
    "missed_facts": lambda _: {"missed_facts": []},
}
