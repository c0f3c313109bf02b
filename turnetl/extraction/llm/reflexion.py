"""Asking what was missed: today's Graphiti does not any more.

The model is shown the part and what it named, and names what is missing. Its answer is no result:
it becomes hints for another extraction, which stand beside the instructions.
"""

import json
from collections.abc import Iterable, Sequence

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode, EpisodicNode
from graphiti_core.prompts.models import Message
from pydantic import BaseModel, Field

from turnetl.llm.graphiti import GraphitiModel

_MOST = 30
"""Hints of a pass: a model that finds more has begun to invent."""
_LONGEST = 300
"""Characters of a hint."""


class MissedEntities(BaseModel):
    """What else a part speaks of."""

    missed_entities: list[str] = Field(
        description="Names of things that the text speaks of and the list lacks; empty if none."
    )


class MissedFacts(BaseModel):
    """What else a part says."""

    missed_facts: list[str] = Field(
        description="Facts that the text states and the list lacks, a sentence each; empty if none."
    )


async def entities(
    model: GraphitiModel,
    told: EpisodicNode,
    before: Sequence[EpisodicNode],
    named: Sequence[EntityNode],
) -> list[str]:
    """Return names of what a part speaks of and was not named, each once."""
    names = [node.name for node in named]
    said = await model.generate_response(
        _asked(
            told,
            before,
            f"These things were found in it:\n\n{_lines(names)}\n\n"
            "Which things that matter does the text speak of that are not in the list? Name files, "
            "tools, commands, errors, decisions, packages and parts of the project, as the text "
            "names them. Leave out what the list has under another name, what only the earlier "
            "texts speak of, and general words. Most often nothing is missing.",
        ),
        response_model=MissedEntities,
        group_id=told.group_id,
        prompt_name="reflexion.entities",
    )
    return _new(MissedEntities(**said).missed_entities, names)


async def facts(
    model: GraphitiModel,
    told: EpisodicNode,
    before: Sequence[EpisodicNode],
    named: Sequence[EntityNode],
    said: Sequence[EntityEdge],
) -> list[str]:
    """Return facts that a part states and were not found, each once."""
    known = [edge.fact for edge in said]
    answer = await model.generate_response(
        _asked(
            told,
            before,
            f"These things were found in it:\n\n{_lines(node.name for node in named)}\n\n"
            f"These facts about them were found in it:\n\n{_lines(known)}\n\n"
            "Which facts about two of these things does the text state that are not in the list? "
            "Say what was wanted, changed, tried, decided or found out, what failed and what "
            "mended it. Leave out what the list says in other words, and what the text does not "
            "state. Most often nothing is missing.",
        ),
        response_model=MissedFacts,
        group_id=told.group_id,
        prompt_name="reflexion.facts",
    )
    return _new(MissedFacts(**answer).missed_facts, known)


def hint_of_entities(missed: Iterable[str]) -> str:
    return f"An earlier reading missed these things. Extract them too:\n{_lines(missed)}"


def hint_of_facts(missed: Iterable[str]) -> str:
    return f"An earlier reading missed these facts. Extract them too:\n{_lines(missed)}"


def _asked(told: EpisodicNode, before: Sequence[EpisodicNode], task: str) -> list[Message]:
    earlier = [node.content for node in before]
    return [
        Message(
            role="system",
            content="You look over what somebody has taken down from a text, and say what they "
            "missed. You add nothing that the text does not say.",
        ),
        Message(
            role="user",
            content=f"<EARLIER TEXTS>\n{json.dumps(earlier, ensure_ascii=False)}\n</EARLIER TEXTS>"
            f"\n\n<TEXT>\n{told.content}\n</TEXT>\n\n{task}",
        ),
    ]


def _lines(said: Iterable[str]) -> str:
    return "\n".join(f"- {one}" for one in said) or "- (nothing)"


def _new(missed: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return what is not known, in other letters either, as far as it can be a hint."""
    seen = {_plain(one) for one in known} | {""}
    new = []
    for one in missed:
        if _plain(one) not in seen and len(one) <= _LONGEST:
            seen.add(_plain(one))
            new.append(" ".join(one.split()))
    return new[:_MOST]


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
