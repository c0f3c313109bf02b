"""A call to a language model: a request with a schema, an answer with its price.

`ChatModel` is the seam that everything around a call stands behind: what wraps a model is a model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from json import dumps
from typing import Any, Literal, Protocol

import msgspec
from pydantic import BaseModel

from turnetl.model import Usage

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: Role
    text: str


@dataclass(frozen=True)
class ResponseSchema:
    """The form of the answer, as JSON Schema with `$defs`. A run has a handful."""

    name: str
    json: Mapping[str, Any]
    response_model: type[BaseModel] | None = field(default=None, compare=False, repr=False)
    """What an answer is checked with."""

    @cached_property
    def written(self) -> str:
        """The schema as it is sent to most."""
        return dumps(self.json)

    @cached_property
    def canonical(self) -> bytes:
        """The schema whatever the order of its keys is."""
        return msgspec.json.encode(self.json, order="sorted", enc_hook=dict)


@cache
def response_schema(model: type[BaseModel]) -> ResponseSchema:
    """Return the JSON Schema of a pydantic model, built once per model."""
    return ResponseSchema(model.__name__, model.model_json_schema(), model)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call. Holds neither clock nor random key: the same request is the same value."""

    prompt_name: str
    """Which of Graphiti's prompts it is."""
    messages: tuple[ChatMessage, ...]
    schema: ResponseSchema | None
    max_tokens: int


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """What came back. `text` is JSON if all went well; it was not checked."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    truncated: bool
    """The answer stopped at the limit of tokens."""
    cached_tokens: int = 0
    """Of the prompt, those that the provider had read before and asks less for."""
    refused: bool = False
    """The model would not answer."""
    calls: int = 1
    """Attempts that are summed up here."""
    seconds: float = 0.0
    """Until the answer was there, waiting before the call left out."""
    cost: float | None = 0.0
    """US dollars; None where no price is known."""
    from_journal: bool = False
    """Out of the journal: nothing was paid for it now."""

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
        """Return the same answer, as what all attempts at it used together."""
        return replace(
            self,
            calls=usage.calls,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cost=usage.cost,
            cached_tokens=usage.cached_tokens,
            seconds=usage.seconds,
        )


class ChatModel(Protocol):
    """A language model."""

    @property
    def name(self) -> str:
        """Provider and model: part of a group's recipe."""
        ...

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask once.

        Raises:
            ModelRefused: a person must act first: a key, credit, the model's name.
            ModelBusy: no answer after some patience.
            BadTurn: this request cannot be answered, others can.
        """
        ...

    async def close(self) -> None:
        """Let go of connections. Safe to repeat."""


class ProviderAdapter(Protocol):
    """A provider's format: how a request is sent and an answer read. Pure."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    def url(self) -> str: ...

    def headers(self, api_key: str | None) -> dict[str, str]: ...

    def request_body(self, request: ChatRequest) -> dict[str, Any]: ...

    def parse_response(self, body: Mapping[str, Any]) -> ChatResponse:
        """Read a successful response. What it lacks is empty; nothing is raised."""
        ...
