"""The prompts that a run sends, and the routing of each to one of several models."""

import asyncio
from collections.abc import Mapping

from turnetl.base.errors import BadUsage
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse

SMALL_PROMPTS = (
    "dedupe_edges.resolve_edge",
    "extract_edges.extract_attributes",
    "extract_edges.extract_timestamps",
    "extract_nodes.extract_attributes",
    "summaries.refresh",
)
"""The prompts that Graphiti sends to its small model, and summaries, which it sends there too; the
setting `small` selects all of them. As a prefix, the first one selects the request about several
facts too."""
PROMPTS = (
    *SMALL_PROMPTS,
    "communities.describe",
    "dedupe_edges.resolve_edges",
    "dedupe_nodes.nodes",
    "evaluate.questions",
    "extract_edges.edge",
    "extract_nodes.extract_json",
    "extract_nodes.extract_message",
    "extract_nodes.extract_text",
    "index.questions",
    "reflexion.entities",
    "reflexion.facts",
    "search.rerank",
)
"""Every prompt that a run, an index, a search, an evaluation or a build of communities may send."""


class PromptRouter:
    """Sends each request to one of several models, chosen by the name of its prompt."""

    def __init__(self, default: ChatModel, by_prefix: Mapping[str, ChatModel]) -> None:
        """Route between opened models. The same model may have several prefixes.

        Args:
            default: receives requests that no prefix matches.
            by_prefix: models by prefix of prompt names; the longest matching prefix wins.
        """
        self._default = default
        self._by_prefix = {
            prefix: by_prefix[prefix]
            for prefix in sorted(by_prefix, key=lambda prefix: (-len(prefix), prefix))
        }

    @property
    def name(self) -> str:
        """Names of all models, in an order that does not depend on the order of the settings."""
        names = {prefix: model.name for prefix, model in self._by_prefix.items()}
        if not names:
            return self._default.name
        routes = ", ".join(f"{prefix}={names[prefix]}" for prefix in sorted(names))
        return f"{self._default.name} ({routes})"

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Send the request to the model of its prompt."""
        return await self.model_for(request.prompt_name).complete(request)

    def model_for(self, prompt_name: str) -> ChatModel:
        matching = (
            model for prefix, model in self._by_prefix.items() if prompt_name.startswith(prefix)
        )
        return next(matching, self._default)

    async def close(self) -> None:
        # Concurrently: each may wait some time for its last responses.
        models = {id(model): model for model in (self._default, *self._by_prefix.values())}
        await asyncio.gather(*(model.close() for model in models.values()))


def expand_routes(models: Mapping[str, str]) -> dict[str, str]:
    """Return model names by prefix of prompt names, with `small` replaced by its prompts.

    Every other prefix that matches a prompt wins over `small`.

    Raises:
        BadUsage: no prompt has the prefix; lists the prompts.
    """
    prefixes = {prefix: model for prefix, model in models.items() if prefix != "small"}
    for prefix in prefixes:
        if not any(prompt.startswith(prefix) for prompt in PROMPTS):
            raise BadUsage(
                f"no prompt begins with `{prefix}`, a name in the models by prompt; there are "
                f"{', '.join(sorted(PROMPTS))}, and `small` for {', '.join(SMALL_PROMPTS)}"
            )
    if "small" not in models:
        return prefixes
    rest = (prompt for prompt in SMALL_PROMPTS if not prompt.startswith(tuple(prefixes)))
    return dict.fromkeys(rest, models["small"]) | prefixes
