"""Graphiti's prompts for turns with instructions: the same rules in fewer and cheaper tokens.

- What is the same for every turn comes first, in the system message: providers charge less for the
  beginning of a prompt that they have read before.
- The prompt that resolves entities shows no earlier turns: the extraction, which reads them, named
  the entities.

Several facts share one request: see `fact_questions`. Turns without instructions are sent with
Graphiti's own prompts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
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

    def build_reordered(context: dict[str, Any]) -> ChatPrompt:
        prompt = build(context)
        instructions, moved = without_sections(prompt.user.content, sections)
        system = f"{prompt.system.content}\n\n{instructions}\n\n{_WHERE}\n"
        return ChatPrompt(
            system=SystemMessage(content=system),
            user=UserMessage(content="\n\n".join(moved.values())),
        )

    return build_reordered


def without_sections(text: str, names: Sequence[str]) -> tuple[str, Mapping[str, str]]:
    """Return the text without the first section of each name, and these sections by name.

    A second section of a name is one of a template, which is behind those of Graphiti.
    """
    moved: dict[str, str] = {}
    parts, done = [], 0
    for name, section in _sections(text, names):
        if name not in moved:
            moved[name] = text[section].strip("\n")
            parts += [text[done : section.start], "\n\n"]
            done = section.stop
    return "".join([*parts, text[done:]]).strip(), moved


def _sections(text: str, names: Sequence[str]) -> Iterator[tuple[str, slice]]:
    """Yield the name of each section, and where it is, with the line breaks around it.

    One expression for a whole section would take fifteen times as long.
    """
    opener, done, searched = re.compile(rf"<({'|'.join(names)})>\n"), 0, 0
    while found := opener.search(text, searched):
        searched, closer = found.end(), f"\n</{found[1]}>"
        end = text.find(closer, searched)
        if end < 0:
            continue
        start, searched = found.start(), end + len(closer)
        while start > done and text[start - 1] == "\n":
            start -= 1
        while text.startswith("\n", searched):
            searched += 1
        done = searched
        yield found[1], slice(start, done)


def _without_earlier_turns(build: ChatPromptFunction) -> ChatPromptFunction:
    def build_shorter(context: dict[str, Any]) -> ChatPrompt:
        return build({**context, "previous_episodes": []})

    return build_shorter
