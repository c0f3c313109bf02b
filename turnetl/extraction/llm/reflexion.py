"""Prompts about what is extracted already: reflexion asks the model what an extraction missed.

Graphiti no longer has them. The model is shown a chunk and the extracted entities or facts, and
names what is missing. Its response is not a result: it becomes hints, which are added to the
instructions of another extraction.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode, EpisodicNode
from graphiti_core.prompts.models import Message
from pydantic import BaseModel, Field

from turnetl.graph.mirror.group import folded
from turnetl.llm.graphiti import GraphitiModel
from turnetl.llm.prompt_delimiters import escape_text

_MAX_HINTS = 30
"""Hints of a pass: a model that returns more hallucinates."""
_MAX_HINT_LENGTH = 300
"""Characters of a hint."""
_MAX_KNOWN_CHARS = 2_000
"""Of the known facts that a prompt shows."""


# The docstrings and descriptions of the response models are part of the schemas that are sent.
class MissedEntities(BaseModel):
    """Entities that the extraction missed."""

    missed_entities: list[str] = Field(
        description="Names of entities that the text mentions and the list lacks; empty if none."
    )


class MissedFacts(BaseModel):
    """Facts that the extraction missed."""

    missed_facts: list[str] = Field(
        description="Facts that the text states and the list lacks, a sentence each; empty if none."
    )


async def entities(
    model: GraphitiModel,
    episode: EpisodicNode,
    previous: Sequence[EpisodicNode],
    nodes: Sequence[EntityNode],
) -> list[str]:
    """Return the names of entities that the chunk mentions and the extraction missed, each once."""
    names = [node.name for node in nodes]
    response = await model.generate_response(
        _messages(
            episode,
            previous,
            f"These entities were extracted from the text:\n\n{_lines(names)}\n\n"
            "Which relevant entities does the text mention that are not in the list? Name files, "
            "tools, commands, errors, decisions, packages and components, as the text names them. "
            "Omit entities that the list has under another name, entities that only the earlier "
            "texts mention, and generic words. Usually nothing is missing.",
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
    """Return facts that the chunk states and the extraction missed, each once."""
    known = [edge.fact for edge in edges]
    response = await model.generate_response(
        _messages(
            episode,
            previous,
            "These entities were extracted from the text:\n\n"
            f"{_lines(node.name for node in nodes)}\n\n"
            f"These facts about them were extracted:\n\n{_lines(known)}\n\n"
            "Which facts about two of these entities does the text state that are not in the list? "
            "State what was requested, changed, tried, decided or found, what failed and what "
            "fixed it. Omit facts that the list states in other words, and anything that the text "
            "does not state. Usually nothing is missing.",
        ),
        response_model=MissedFacts,
        group_id=episode.group_id,
        prompt_name="reflexion.facts",
    )
    return _new_hints(MissedFacts(**response).missed_facts, known)


def entity_hints(missed: Iterable[str]) -> str:
    return f"An earlier extraction missed these entities. Extract them too:\n{_lines(missed)}"


def fact_hints(missed: Iterable[str]) -> str:
    return f"An earlier extraction missed these facts. Extract them too:\n{_lines(missed)}"


def known_facts(known: Sequence[str]) -> str:
    """Return the instructions of a turn of which rules state these facts, the first ones shown.

    Only the section differs between turns: in compact prompts it is in the message of the turn.
    """
    shown = list(takewhile(lambda total: total <= _MAX_KNOWN_CHARS, accumulate(map(len, known))))
    return (
        "KNOWN_FACTS are stored already. State none of them again, in whatever words; add what "
        "they lack: reasons, choices, causes, what is left open. Often nothing is missing.\n\n"
        f"<KNOWN_FACTS>\n{_lines(known[: len(shown)])}\n</KNOWN_FACTS>"
    )


def _messages(episode: EpisodicNode, previous: Sequence[EpisodicNode], task: str) -> list[Message]:
    earlier = [escape_text(node.content) for node in previous]
    return [
        Message(
            role="system",
            content="You review an extraction from a text and list what it missed. Add nothing "
            "that the text does not state.",
        ),
        Message(
            role="user",
            content=f"<EARLIER TEXTS>\n{json.dumps(earlier, ensure_ascii=False)}\n</EARLIER TEXTS>"
            f"\n\n<TEXT>\n{escape_text(episode.content)}\n</TEXT>\n\n{task}",
        ),
    ]


def _lines(items: Iterable[str]) -> str:
    return "\n".join(f"- {escape_text(item)}" for item in items) or "- (none)"


def _new_hints(missed: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the missed items that are not known, ignoring case, within the limits of hints."""
    seen = {folded(item) for item in known} | {""}
    new = []
    for item in missed:
        if folded(item) not in seen and len(item) <= _MAX_HINT_LENGTH:
            seen.add(folded(item))
            new.append(" ".join(item.split()))
    return new[:_MAX_HINTS]
