"""Requests to a language model and its responses, and the routing of prompts to models.

`ChatModel` is the port of this package: every wrapper of a model is itself a `ChatModel`.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from json import dumps
from typing import Annotated, Any, Literal, Protocol

import msgspec
from pydantic import BaseModel

from turnetl.base.errors import BadUsage
from turnetl.base.model import Usage
from turnetl.base.results import described

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message of a request."""

    role: Annotated[Role, described("The author of the message.")]
    text: Annotated[str, described("The text of the message.")]


@dataclass(frozen=True)
class ResponseSchema:
    """The JSON Schema of a response, with `$defs`. A run uses about ten of them."""

    name: str
    json: Mapping[str, Any] = field(hash=False)
    response_model: type[BaseModel] | None = field(default=None, compare=False, repr=False)
    """The pydantic model that validates a response."""

    @cached_property
    def serialized(self) -> str:
        """The schema as most providers receive it."""
        return dumps(self.json)

    @cached_property
    def canonical(self) -> bytes:
        """The schema with sorted keys: equal for equal schemas."""
        return msgspec.json.encode(self.json, order="sorted", enc_hook=dict)


@cache
def response_schema(model: type[BaseModel]) -> ResponseSchema:
    """Return the JSON Schema of a pydantic model, built once per model."""
    return ResponseSchema(model.__name__, model.model_json_schema(), model)


MAX_ITEMS = 100
"""Of a list in a response, if its prompt asks for no certain number."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request. Holds neither time nor random id: equal requests are equal values."""

    prompt_name: str
    """Name of Graphiti's prompt."""
    messages: tuple[ChatMessage, ...]
    schema: ResponseSchema | None
    max_tokens: int
    """Upper limit of the response."""
    max_items: int = MAX_ITEMS
    """Most entries of a list in the response, where a server of one's own enforces the schema."""

    @property
    def characters(self) -> int:
        return sum(len(message.text) for message in self.messages)

    @property
    def asked_characters(self) -> int:
        """Characters of the longest message of the user: what the response is about."""
        return max(len(message.text) for message in self.messages if message.role == "user")


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """The response of a model. `text` should be JSON; it is not validated yet."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    truncated: bool
    """The response ended at the token limit."""
    cached_tokens: int = 0
    """Prompt tokens read from the provider's prompt cache, at a lower price."""
    cache_write_tokens: int = 0
    """Prompt tokens written to the provider's prompt cache; some providers charge more for them."""
    refused: bool = False
    """The model declined to respond."""
    calls: int = 1
    """Attempts that this response sums up."""
    seconds: float = 0.0
    """Latency, without time spent waiting before the request was sent."""
    cost: float | None = 0.0
    """US dollars; None if the price is unknown."""

    @property
    def usage(self) -> Usage:
        return Usage(
            calls=self.calls,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cost=self.cost,
            cached_tokens=self.cached_tokens,
            seconds=self.seconds,
        )

    def with_usage(self, usage: Usage) -> "ChatResponse":
        """Return the same response with the total usage of all its attempts."""
        return replace(self, **asdict(usage))


class ChatModel(Protocol):
    """A language model."""

    @property
    def name(self) -> str:
        """Provider and model: part of a group's recipe."""
        ...

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the response to a request.

        Raises:
            ModelUnusable: the user must act first: key, credit, model name.
            ModelBusy: no response after all retries.
            BadTurn: the model cannot respond to this request; it may respond to others.
        """
        ...

    async def close(self) -> None:
        """Close connections. May be called more than once."""


class ModelWrapper:
    """Base of the models around another one: they have its name, and close it."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    async def close(self) -> None:
        await self._model.close()


class ProviderAdapter(Protocol):
    """The wire format of a provider: builds request bodies and parses responses. Does no I/O."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    def url(self) -> str: ...

    def headers(self, api_key: str | None) -> dict[str, str]: ...

    def request_body(self, request: ChatRequest) -> dict[str, Any]: ...

    def parse_response(self, body: Mapping[str, Any]) -> ChatResponse:
        """Parse the body of a successful response. Missing fields become empty values."""
        ...


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
        """Route between opened models; the longest matching prefix of a prompt's name wins."""
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


def model_for(model: ChatModel, prompt_name: str) -> ChatModel:
    return model.model_for(prompt_name) if isinstance(model, PromptRouter) else model


def expand_routes(models: Mapping[str, str]) -> dict[str, str]:
    """Return model names by prefix of prompt names, with `small` replaced by its prompts.

    Every other prefix that matches a prompt wins over `small`.
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
