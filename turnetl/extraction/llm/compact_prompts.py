"""Graphiti's prompts for turns with instructions: the same rules in fewer and cheaper tokens.

- What is the same for every turn comes first, in the system message: providers charge less for the
  beginning of a prompt that they have read before.
- The prompt that resolves entities shows no earlier turns: the extraction, which reads them, named
  the entities.

Several facts share one request: see `fact_questions`. Turns without instructions are sent with
Graphiti's own prompts.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from graphiti_core.prompts.lib import ChatPromptLibrary, create_prompt_library
from graphiti_core.prompts.models import ChatPrompt, ChatPromptFunction, SystemMessage, UserMessage

from turnetl.extraction.llm.prompts import escaping_builders

_SECTIONS: Mapping[tuple[str, str], Sequence[str]] = {
    ("extract_nodes", "extract_message"): ("PREVIOUS MESSAGES", "CURRENT MESSAGE"),
    ("extract_edges", "edge"): (
        *("PREVIOUS_MESSAGES", "CURRENT_MESSAGE", "ENTITIES", "REFERENCE_TIME"),
    ),
    ("dedupe_nodes", "nodes"): (
        *("PREVIOUS MESSAGES", "CURRENT MESSAGE", "ENTITIES", "EXISTING ENTITIES"),
    ),
    ("dedupe_edges", "resolve_edge"): (
        *("EXISTING FACTS", "FACT INVALIDATION CANDIDATES", "NEW FACT"),
    ),
}
"""By prompt: the delimiters of the sections that differ between turns."""
_WHERE = (
    "The sections that these instructions name and that are not above are in the next message, "
    "between delimiters of the same names."
)


def compact_prompts() -> ChatPromptLibrary:
    """Return Graphiti's prompt library; it escapes the texts of the context, as without this."""
    builders = escaping_builders()
    for (group, name), sections in _SECTIONS.items():
        builders[group][name] = _instructions_first(builders[group][name], sections)
    builders["dedupe_nodes"]["nodes"] = _without_earlier_turns(builders["dedupe_nodes"]["nodes"])
    return create_prompt_library(builders)


def _instructions_first(build: ChatPromptFunction, sections: Sequence[str]) -> ChatPromptFunction:
    """Return a builder of the same prompt with the sections of the turn in the user message."""
    names = "|".join(sections)
    section = re.compile(rf"\n*<({names})>\n.*?\n</\1>\n*", re.DOTALL)

    def build_reordered(context: dict[str, Any]) -> ChatPrompt:
        prompt, moved = build(context), dict[str, str]()

        def move(found: re.Match[str]) -> str:
            if found[1] in moved:
                return found[0]  # Of a template, which is behind the sections of Graphiti.
            moved[found[1]] = found[0].strip("\n")
            return "\n\n"

        instructions = section.sub(move, prompt.user.content).strip()
        system = f"{prompt.system.content}\n\n{instructions}\n\n{_WHERE}\n"
        return ChatPrompt(
            system=SystemMessage(content=system),
            user=UserMessage(content="\n\n".join(moved.values())),
        )

    return build_reordered


def _without_earlier_turns(build: ChatPromptFunction) -> ChatPromptFunction:
    def build_shorter(context: dict[str, Any]) -> ChatPrompt:
        return build({**context, "previous_episodes": []})

    return build_shorter
