"""Short prompts for small models: the rules of an extraction in a fifth of Graphiti's words.

They have no worked examples and no lists of what to look for: a model of one or two billion
parameters answers with these instead of reading the turn. What it copies nevertheless is known by
its absence from the turn. Each prompt has the context that Graphiti's prompt of the same name has,
and a response of the same schema. The instructions are the system message: a local server reads
the beginning that requests share once.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from graphiti_core.nodes import EntityNode
from graphiti_core.prompts.models import ChatPrompt, ChatPromptFunction, SystemMessage, UserMessage

from turnetl.base.model import Fact
from turnetl.graph.mirror.group import folded
from turnetl.llm.prompt_delimiters import without_sections

_MAX_ENTITIES, _MAX_FACTS = 8, 4
_EARLIER = 300
"""Characters of the last earlier turn, by which "it" and "that file" are understood."""


def _extract_entities(context: dict[str, Any]) -> ChatPrompt:
    types = ", ".join(
        f"{one['entity_type_id']} {one['entity_type_name']}" for one in context["entity_types"]
    )
    system = f"""You read one turn of a coding agent's session and index it, as JSON.

Copy from CURRENT MESSAGE the names that a developer would search for a year later, at most
{_MAX_ENTITIES}, each once and exactly as written there. Take a name only if it tells one thing from
all others of its kind. An empty list is right if there is none.

`entity_type_id`: {types}."""
    task = "Which names does CURRENT MESSAGE contain?"
    return _prompt(system, context, {"CURRENT MESSAGE": context["episode_content"]}, task)


def _extract_facts(context: dict[str, Any]) -> ChatPrompt:
    relations = ", ".join(one["fact_type_name"] for one in context.get("edge_types") or ())
    chosen = f"one of {relations}, or another verb" if relations else "a verb"
    system = f"""You read one turn of a coding agent's session and state facts, as JSON.

Each of at most {_MAX_FACTS} facts joins two different names of ENTITIES, copied exactly. `fact` is
one sentence that has both names, and says what CURRENT MESSAGE says about the two, with its numbers
and reasons. A question, a wish or a plan is no fact. An empty list is right if nothing is stated.
REFERENCE_TIME is the time of the turn.

`relation_type` is {chosen}, in capitals."""
    previous = [one["content"] for one in context["previous_episodes"]][-1:]
    sections = {
        "PREVIOUS_MESSAGES": "".join(text[-_EARLIER:] for text in previous),
        "CURRENT_MESSAGE": context["episode_content"],
        "ENTITIES": _lines(one["name"] for one in context["nodes"]),
        "REFERENCE_TIME": str(context["reference_time"]),
    }
    task = "What does CURRENT MESSAGE state about two of these ENTITIES?"
    return _prompt(system, context, sections, task)


def _resolve_entities(context: dict[str, Any]) -> ChatPrompt:
    count = len(context["extracted_nodes"])
    system = """You say which things are known already, as JSON.

For each of ENTITIES give `duplicate_candidate_id`: the number of the one of EXISTING ENTITIES that
is the same thing under another spelling or a longer name, or -1 if none is. Things that are
related, or of the same kind, are not the same. Repeat `id` and `name` as they are."""
    sections = {
        "ENTITIES": _numbered(context["extracted_nodes"], "id", "name"),
        "EXISTING ENTITIES": _numbered(context["existing_nodes"], "candidate_id", "name"),
    }
    task = f"Answer for all {count} ENTITIES, with the ids 0 to {count - 1}."
    return _prompt(system, {}, sections, task)


def _resolve_fact(context: dict[str, Any]) -> ChatPrompt:
    system = """You compare a NEW FACT with known facts, as JSON.

`duplicate_facts`: numbers from EXISTING FACTS that say the same. One with another number, date or
name does not say the same.
`contradicted_facts`: numbers from both lists that cannot be true any more if NEW FACT is. More work
on the same thing contradicts nothing. Both lists are mostly empty."""
    sections = {
        "EXISTING FACTS": _numbered(context["existing_edges"], "idx", "fact"),
        "FACT INVALIDATION CANDIDATES": _numbered(
            context["edge_invalidation_candidates"], "idx", "fact"
        ),
        "NEW FACT": str(context["new_edge"]),
    }
    return _prompt(system, {}, sections)


SHORT_PROMPTS: Mapping[tuple[str, str], ChatPromptFunction] = {
    ("extract_nodes", "extract_message"): _extract_entities,
    ("extract_edges", "edge"): _extract_facts,
    ("dedupe_nodes", "nodes"): _resolve_entities,
    ("dedupe_edges", "resolve_edge"): _resolve_fact,
}
"""By group and name of Graphiti's prompt."""
MAX_ITEMS = {"extract_nodes.extract_message": _MAX_ENTITIES, "extract_edges.edge": _MAX_FACTS}
"""Most entries of a response by name of its prompt, for servers that enforce a schema."""


def copied_entities(nodes: Iterable[EntityNode], text: str, types: Iterable[str]) -> frozenset[str]:
    """Return the uuids of entities named as a type, or by a name that the turn does not have."""
    text, types = folded(text), {folded(name) for name in types}
    names = ((node.uuid, folded(node.name)) for node in nodes)
    return frozenset(uuid for uuid, name in names if name in types or name not in text)


def copied_facts(facts: Iterable[Fact], names: Mapping[str, str]) -> frozenset[str]:
    """Return the uuids of facts whose sentence does not have the names of both its entities."""
    return frozenset(
        fact.uuid
        for fact in facts
        if any(folded(names[end]) not in folded(fact.text) for end in (fact.source, fact.target))
    )


def _prompt(
    system: str, context: Mapping[str, Any], sections: Mapping[str, str], task: str = ""
) -> ChatPrompt:
    parts = [f"<{name}>\n{text}\n</{name}>" for name, text in sections.items() if text]
    given = str(context.get("custom_extraction_instructions") or "")
    instructions, known = without_sections(given, ("KNOWN_FACTS",))
    return ChatPrompt(
        system=SystemMessage(content="\n\n".join(filter(None, (system, instructions)))),
        user=UserMessage(content="\n\n".join(filter(None, (*parts, *known.values(), task)))),
    )


def _lines(names: Iterable[str]) -> str:
    return "\n".join(f"- {_one_line(name)}" for name in names)


def _numbered(items: Iterable[Mapping[str, Any]], number: str, text: str) -> str:
    return "\n".join(f"{item[number]}: {_one_line(item[text])}" for item in items)


def _one_line(text: str) -> str:
    return " ".join(text.split())
