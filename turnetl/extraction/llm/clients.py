"""The clients that Graphiti's building blocks take, with its prompts over escaped text.

Each prompt is built by Graphiti from a context of texts: chunks, names, summaries, attributes and
facts. They are escaped here only. No node or edge is changed, so that the graph stores the texts as
they are.

Turns without instructions are sent with Graphiti's own prompts, those with instructions with
compact ones: the same rules in fewer and cheaper tokens. Short ones, for small models, are in
`short_prompts`.

- What is the same for every turn comes first, in the system message: providers charge less for the
  beginning of a prompt that they have read before.
- The prompt that resolves entities shows no earlier turns: the extraction, which reads them, named
  the entities.
- Several facts share one request: see `fact_batches`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from graphiti_core.graphiti_types import GraphitiClients
from graphiti_core.prompts.lib import (
    PROMPT_GROUPS,
    ChatPromptLibrary,
    create_prompt_library,
    default_chat_prompt_library,
)
from graphiti_core.prompts.models import ChatPrompt, ChatPromptFunction, SystemMessage, UserMessage
from graphiti_core.tracer import NoOpTracer

from turnetl.base.model import Usage
from turnetl.extraction.config import PromptStyle
from turnetl.extraction.llm.fact_batches import FactBatches
from turnetl.extraction.llm.short_prompts import MAX_ITEMS, SHORT_PROMPTS
from turnetl.extraction.ontology import Ontology
from turnetl.graph.mirror.graphiti_adapters import MirrorDriver
from turnetl.llm.chat import ChatModel
from turnetl.llm.graphiti import GraphitiEmbedder, GraphitiModel, NoReranker
from turnetl.llm.prompt_delimiters import escape_values, without_sections

_SECTIONS: Mapping[tuple[str, str], Sequence[str]] = {
    ("extract_nodes", "extract_message"): ("PREVIOUS MESSAGES", "CURRENT MESSAGE"),
    ("extract_edges", "edge"): (
        *("PREVIOUS_MESSAGES", "CURRENT_MESSAGE", "ENTITIES", "REFERENCE_TIME", "KNOWN_FACTS"),
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


@cache
def prompts_of(style: PromptStyle) -> ChatPromptLibrary:
    """Return the prompts of a style; all escape the texts of their context."""
    builders = _escaping_builders()
    if style == "compact":
        for (group, name), sections in _SECTIONS.items():
            builders[group][name] = _instructions_first(builders[group][name], sections)
        resolution = builders["dedupe_nodes"]
        resolution["nodes"] = _without_earlier_turns(resolution["nodes"])
    elif style == "short":
        for (group, name), build in SHORT_PROMPTS.items():
            builders[group][name] = _escaping(build)
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


def _without_earlier_turns(build: ChatPromptFunction) -> ChatPromptFunction:
    def build_shorter(context: dict[str, Any]) -> ChatPrompt:
        return build({**context, "previous_episodes": []})

    return build_shorter


_TRUSTED = frozenset(
    ("custom_extraction_instructions", "edge_types", "entity_type_descriptions", "entity_types")
)
"""Fields of a context that the user writes: the template and the ontology. The hints of a reflexion
pass are part of the instructions and escaped where they are made."""


def _escaping_builders() -> dict[str, dict[str, ChatPromptFunction]]:
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
        return build(
            {
                name: value if name in _TRUSTED else escape_values(value)
                for name, value in context.items()
            }
        )

    return build_escaped


def most_items(style: PromptStyle) -> Mapping[str, int]:
    """Return the most entries of a response by name of its prompt."""
    return MAX_ITEMS if style == "short" else {}


_ALL = 1_000
"""Calls that Graphiti starts together: all facts of a turn, so that they share requests. The
limiter decides how many are sent."""


Result = TypeVar("Result")


class CheckedClients:
    """Graphiti's clients for one or more calls of one turn, with a check for swallowed errors."""

    def __init__(
        self,
        model: ChatModel,
        embedder: GraphitiEmbedder,
        driver: MirrorDriver,
        *,
        style: PromptStyle,
    ) -> None:
        self.model = GraphitiModel(
            model if style == "graphiti" else FactBatches(model),
            most_items(style),
        )
        self._driver = driver
        self.bundle = GraphitiClients(
            driver=driver,
            llm_client=self.model,
            embedder=embedder,
            cross_encoder=NoReranker(),
            tracer=NoOpTracer(),
            prompt_library=prompts_of(style),
            max_coroutines=None if style == "graphiti" else _ALL,
        )

    def check(self) -> None:
        """Raise errors that Graphiti may have swallowed: a leaked read, a failed request."""
        self._driver.check()
        self.model.check()


@dataclass
class MeteredCalls:
    """Calls Graphiti's functions, each with clients of its own, and counts the usage."""

    clients: Callable[[], CheckedClients]
    """Makes the clients of one call, so that an error of one does not fail the next."""
    ontology: Ontology
    usage: Usage = field(default_factory=Usage, init=False)

    async def _metered(self, call: Callable[[CheckedClients], Awaitable[Result]]) -> Result:
        clients = self.clients()
        try:
            result = await call(clients)
            clients.check()
        finally:
            self.usage += clients.model.end()
        return result
