"""The prompts that a run sends, and the model that each of them goes to."""

import asyncio
from collections.abc import Mapping

from turnetl.errors import BadUsage
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse

SMALL_PROMPTS = (
    "dedupe_edges.resolve_edge",
    "extract_edges.extract_attributes",
    "extract_edges.extract_timestamps",
    "extract_nodes.extract_attributes",
    "extract_nodes.extract_entity_summaries_from_episodes",
    "extract_nodes.extract_summaries_batch",
)
"""The prompts that Graphiti sends to its small model, and what the word `small` stands for."""
PROMPTS = (
    *SMALL_PROMPTS,
    "dedupe_nodes.nodes",
    "extract_edges.edge",
    "extract_nodes.extract_json",
    "extract_nodes.extract_message",
    "extract_nodes.extract_text",
    "reflexion.entities",
    "reflexion.facts",
)
"""All that a run may send."""


class PromptRouter:
    """Asks one model or another, by the prompt's name."""

    def __init__(self, default: ChatModel, by_prefix: Mapping[str, ChatModel]) -> None:
        """Take models that are there already; the same one may stand under several names.

        Args:
            default: asked where no beginning fits.
            by_prefix: beginnings of prompts' names; the longest that fits wins.
        """
        self._default = default
        self._by_prefix = {
            prefix: by_prefix[prefix]
            for prefix in sorted(by_prefix, key=lambda one: (-len(one), one))
        }

    @property
    def name(self) -> str:
        """All models, the same however they were told."""
        others = {prefix: model.name for prefix, model in self._by_prefix.items()}
        if not others:
            return self._default.name
        told = ", ".join(f"{prefix}={others[prefix]}" for prefix in sorted(others))
        return f"{self._default.name} ({told})"

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask the model for this prompt, once; raises what it raises."""
        return await self.of(request.prompt_name).complete(request)

    def of(self, prompt: str) -> ChatModel:
        fitting = (m for prefix, m in self._by_prefix.items() if prompt.startswith(prefix))
        return next(fitting, self._default)

    async def close(self) -> None:
        # Side by side: each may wait a while for its last answers.
        models = {id(one): one for one in (self._default, *self._by_prefix.values())}.values()
        await asyncio.gather(*(model.close() for model in models))


def expand_routes(models: Mapping[str, str]) -> dict[str, str]:
    """Return the models by beginnings of prompts' names, without the word `small`.

    `small` gives way to every other name that fits a prompt.

    Raises:
        BadUsage: no prompt begins so; says which there are.
    """
    named = {prefix: model for prefix, model in models.items() if prefix != "small"}
    for prefix in named:
        if not any(prompt.startswith(prefix) for prompt in PROMPTS):
            raise BadUsage(
                f"`{prefix}` in the models by prompt is the beginning of no prompt; there are "
                f"{', '.join(sorted(PROMPTS))}, and `small` for {', '.join(SMALL_PROMPTS)}"
            )
    if "small" not in models:
        return named
    rest = (prompt for prompt in SMALL_PROMPTS if not prompt.startswith(tuple(named)))
    return dict.fromkeys(rest, models["small"]) | named
