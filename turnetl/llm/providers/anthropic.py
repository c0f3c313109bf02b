"""Anthropic's messages.

Models since Claude 4.5 are given the form of the answer. Older ones, and others that speak the same
format, are given a tool that must be called: what it is called with is the answer. The newest
refuse to be told so.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnetl.llm.chat import ChatRequest, ChatResponse, ResponseSchema
from turnetl.llm.providers import schemas
from turnetl.llm.transport.payload import join_path, nested, text_or_empty, token_count

BASE_URL = "https://api.anthropic.com"
_VERSION = "2023-06-01"
_MOST_OF_OLD = 8192
"""Tokens that the older models all can answer with."""
_TAKES_A_FORM = re.compile(r"claude-(?:mythos|[a-z]+-(?:4-[5-9]|4-\d\d|[5-9]|\d\d)(?!\d))")
_THINKS_UNASKED = re.compile(r"claude-(?:mythos|[a-z]+-(?:[5-9]|\d\d)(?!\d))")
"""All since Claude 5; they can be told how much."""
_WORTH_CACHING = 4_000
"""Characters: under about 1,024 tokens nothing is kept."""
_CUT = ("max_tokens", "model_context_window_exceeded")


@dataclass(frozen=True)
class AnthropicAdapter:
    model: str
    base_url: str = BASE_URL
    effort: str | None = None
    provider: str = "anthropic"

    def url(self) -> str:
        base, mark, query = self.base_url.partition("?")
        return join_path(base.rstrip("/").removesuffix("/v1") + mark + query, "/v1/messages")

    def headers(self, api_key: str | None) -> dict[str, str]:
        return {"anthropic-version": _VERSION} | ({"x-api-key": api_key} if api_key else {})

    def request_body(self, request: ChatRequest) -> dict[str, Any]:
        system = "\n\n".join(said.text for said in request.messages if said.role == "system")
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": request.max_tokens,
            "messages": [
                {"role": said.role, "content": said.text}
                for said in request.messages
                if said.role != "system"
            ],
        }
        if system:
            body["system"] = _marked(system)
        if _TAKES_A_FORM.search(self.model):
            return body | self._output(request.schema)
        body["max_tokens"] = min(request.max_tokens, _MOST_OF_OLD)
        return body | _tool(request.schema)

    def parse_response(self, body: Mapping[str, Any]) -> ChatResponse:
        content, usage = nested(body, "content"), nested(body, "usage")
        cached = token_count(nested(usage, "cache_read_input_tokens"))
        written = token_count(nested(usage, "cache_creation_input_tokens"))
        return ChatResponse(
            text=_said(content if isinstance(content, list) else []),
            prompt_tokens=token_count(nested(usage, "input_tokens")) + written + cached,
            completion_tokens=token_count(nested(usage, "output_tokens")),
            truncated=nested(body, "stop_reason") in _CUT,
            cached_tokens=cached,
            refused=nested(body, "stop_reason") == "refusal",
        )

    def _output(self, schema: ResponseSchema | None) -> dict[str, Any]:
        output: dict[str, Any] = {}
        if effort := self.effort or ("low" if _THINKS_UNASKED.search(self.model) else None):
            output["effort"] = effort
        if schema is not None:
            output["format"] = {"type": "json_schema", "schema": schemas.anthropic(schema.json)}
        return {"output_config": output} if output else {}


def _tool(schema: ResponseSchema | None) -> dict[str, Any]:
    if schema is None:
        return {}
    tool = {"name": schema.name, "input_schema": schema.json, "description": "Gives the answer."}
    return {"tools": [tool], "tool_choice": {"type": "tool", "name": schema.name}}


def _marked(system: str) -> str | list[dict[str, Any]]:
    """Mark long instructions as worth keeping: they are the same for every turn."""
    if len(system) < _WORTH_CACHING:
        return system
    return [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]


def _said(blocks: list[Any]) -> str:
    """Return the input of the tool that was called, or else the text."""
    for block in blocks:
        if nested(block, "type") == "tool_use":
            given = nested(block, "input")
            return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return "".join(text_or_empty(nested(block, "text")) for block in blocks)
