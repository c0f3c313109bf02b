"""Graphiti's prompts over escaped text: the only place where text enters them.

Each prompt is built by Graphiti from a context of texts: chunks, names, summaries, attributes and
facts. No node or edge is changed, so that the graph stores the texts as they are.
"""

from collections.abc import Mapping
from typing import Any

from graphiti_core.prompts.lib import (
    PROMPT_GROUPS,
    ChatPromptLibrary,
    create_prompt_library,
    default_chat_prompt_library,
)
from graphiti_core.prompts.models import ChatPrompt, ChatPromptFunction

from turnetl.llm.prompt_delimiters import escape_values

_TRUSTED = frozenset(
    {
        "custom_extraction_instructions",
        "edge_types",
        "entity_type_descriptions",
        "entity_types",
    }
)
"""Fields of a context that the user writes: the template and the ontology. The hints of a reflexion
pass are part of the instructions and escaped where they are made."""


def escaping_prompts() -> ChatPromptLibrary:
    """Return Graphiti's prompt library; its prompts escape the texts of their context."""
    return create_prompt_library(escaping_builders())


def escaping_builders() -> dict[str, dict[str, ChatPromptFunction]]:
    """Return the builders of Graphiti's prompts, by group and name; all escape their context."""
    return {
        group: {
            name: _escaping(getattr(getattr(default_chat_prompt_library, group), name))
            for name in names
        }
        for group, names in PROMPT_GROUPS.items()
    }


def _escaping(build: ChatPromptFunction) -> ChatPromptFunction:
    def build_escaped(context: dict[str, Any]) -> ChatPrompt:
        return build(_escaped(context))

    return build_escaped


def _escaped(context: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value if name in _TRUSTED else escape_values(value) for name, value in context.items()
    }
