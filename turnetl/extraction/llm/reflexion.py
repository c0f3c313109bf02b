"""Reflexion prompts: they ask the model what an extraction missed.

Graphiti no longer has them. The model is shown a part and the extracted entities or facts, and
names what is missing. Its response is not a result: it becomes hints, which are added to the
instructions of another extraction.
"""

import json
from collections.abc import Iterable, Sequence

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode, EpisodicNode
from graphiti_core.prompts.models import Message
from pydantic import BaseModel, Field

from turnetl.llm.graphiti import GraphitiModel

_MAX_HINTS = 30
"""Hints of a pass: a model that returns more hallucinates."""
_MAX_HINT_LENGTH = 300
"""Characters of a hint."""


# The docstrings and descriptions of the response models are part of the schemas that are sent.
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
    episode: EpisodicNode,
    previous: Sequence[EpisodicNode],
    nodes: Sequence[EntityNode],
) -> list[str]:
    """Return the names of entities that the part mentions and the extraction missed, each once."""
    names = [node.name for node in nodes]
    response = await model.generate_response(
        _messages(
            episode,
            previous,
            f"These things were found in it:\n\n{_lines(names)}\n\n"
            "Which things that matter does the text speak of that are not in the list? Name files, "
            "tools, commands, errors, decisions, packages and parts of the project, as the text "
            "names them. Leave out what the list has under another name, what only the earlier "
            "texts speak of, and general words. Most often nothing is missing.",
        ),
        response_model=MissedEntities,
        group_id=episode.group_id,
        prompt_name="reflexion.entities",
    )
    return _new_hints(MissedEntities(**response).missed_entities, names)


async def facts(
    model: GraphitiModel,
    episode: EpisodicNode,
    previous: Sequence[EpisodicNode],
    nodes: Sequence[EntityNode],
    edges: Sequence[EntityEdge],
) -> list[str]:
    """Return facts that the part states and the extraction missed, each once."""
    known = [edge.fact for edge in edges]
    response = await model.generate_response(
        _messages(
            episode,
            previous,
            f"These things were found in it:\n\n{_lines(node.name for node in nodes)}\n\n"
            f"These facts about them were found in it:\n\n{_lines(known)}\n\n"
            "Which facts about two of these things does the text state that are not in the list? "
            "Say what was wanted, changed, tried, decided or found out, what failed and what "
            "mended it. Leave out what the list says in other words, and what the text does not "
            "state. Most often nothing is missing.",
        ),
        response_model=MissedFacts,
        group_id=episode.group_id,
        prompt_name="reflexion.facts",
    )
    return _new_hints(MissedFacts(**response).missed_facts, known)


def entity_hints(missed: Iterable[str]) -> str:
    return f"An earlier reading missed these things. Extract them too:\n{_lines(missed)}"


def fact_hints(missed: Iterable[str]) -> str:
    return f"An earlier reading missed these facts. Extract them too:\n{_lines(missed)}"


def _messages(episode: EpisodicNode, previous: Sequence[EpisodicNode], task: str) -> list[Message]:
    earlier = [node.content for node in previous]
    return [
        Message(
            role="system",
            content="You look over what somebody has taken down from a text, and say what they "
            "missed. You add nothing that the text does not say.",
        ),
        Message(
            role="user",
            content=f"<EARLIER TEXTS>\n{json.dumps(earlier, ensure_ascii=False)}\n</EARLIER TEXTS>"
            f"\n\n<TEXT>\n{episode.content}\n</TEXT>\n\n{task}",
        ),
    ]


def _lines(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "- (nothing)"


def _new_hints(missed: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the missed items that are not known, ignoring case, within the limits of hints."""
    seen = {_normalized(item) for item in known} | {""}
    new = []
    for item in missed:
        if _normalized(item) not in seen and len(item) <= _MAX_HINT_LENGTH:
            seen.add(_normalized(item))
            new.append(" ".join(item.split()))
    return new[:_MAX_HINTS]


def _normalized(text: str) -> str:
    return " ".join(text.lower().split())
