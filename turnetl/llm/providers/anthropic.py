"""The wire format of Anthropic's Messages API.

Models since Claude 4.5 receive the schema of the response. Older models, and others with the same
wire format, receive a tool that they must call: its input is the response. The newest models reject
a forced tool call.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnetl.llm.chat import ChatRequest, ChatResponse, ResponseSchema
from turnetl.llm.error_responses import (
    join_path,
    nested_value,
    text_or_empty,
    token_count,
)
from turnetl.llm.providers import schemas

BASE_URL = "https://api.anthropic.com"
_VERSION = "2023-06-01"
_OLD_OUTPUT_LIMIT = 8192
"""Tokens that all older models can generate."""
_SUPPORTS_SCHEMAS = re.compile(r"claude-(?:mythos|[a-z]+-(?:4-[5-9]|4-\d\d|[5-9]|\d\d)(?!\d))")
_REASONS_BY_DEFAULT = re.compile(r"claude-(?:mythos|[a-z]+-(?:[5-9]|\d\d)(?!\d))")
"""All models since Claude 5; their effort can be set."""
_MIN_CACHED = 4_000
"""Characters. A prompt below about 1,024 tokens is not cached."""
_TRUNCATED = ("max_tokens", "model_context_window_exceeded")


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
        system = "\n\n".join(
            message.text for message in request.messages if message.role == "system"
        )
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": request.max_tokens,
            "messages": [
                {"role": message.role, "content": message.text}
                for message in request.messages
                if message.role != "system"
            ],
        }
        if system:
            body["system"] = _cacheable(system)
        if _SUPPORTS_SCHEMAS.search(self.model):
            return body | self._output(request.schema)
        body["max_tokens"] = min(request.max_tokens, _OLD_OUTPUT_LIMIT)
        return body | _tool(request.schema)

    def parse_response(self, body: Mapping[str, Any]) -> ChatResponse:
        content, usage = nested_value(body, "content"), nested_value(body, "usage")
        cached = token_count(usage, "cache_read_input_tokens")
        written = token_count(usage, "cache_creation_input_tokens")
        return ChatResponse(
            text=_response_text(content if isinstance(content, list) else []),
            prompt_tokens=token_count(usage, "input_tokens") + written + cached,
            completion_tokens=token_count(usage, "output_tokens"),
            truncated=nested_value(body, "stop_reason") in _TRUNCATED,
            cached_tokens=cached,
            cache_write_tokens=written,
            refused=nested_value(body, "stop_reason") == "refusal",
        )

    def _output(self, schema: ResponseSchema | None) -> dict[str, Any]:
        output: dict[str, Any] = {}
        if effort := self.effort or ("low" if _REASONS_BY_DEFAULT.search(self.model) else None):
            output["effort"] = effort
        if schema is not None:
            output["format"] = {"type": "json_schema", "schema": schemas.anthropic(schema.json)}
        return {"output_config": output} if output else {}


def _tool(schema: ResponseSchema | None) -> dict[str, Any]:
    if schema is None:
        return {}
    tool = {
        "name": schema.name,
        "input_schema": schema.json,
        "description": "Returns the response.",
    }
    return {"tools": [tool], "tool_choice": {"type": "tool", "name": schema.name}}


def _cacheable(system: str) -> str | list[dict[str, Any]]:
    """Mark long instructions for the prompt cache: they are the same for every turn."""
    if len(system) < _MIN_CACHED:
        return system
    return [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]


def _response_text(blocks: list[Any]) -> str:
    """Return the input of the tool call, else the text."""
    for block in blocks:
        if nested_value(block, "type") == "tool_use":
            tool_input = nested_value(block, "input")
            if isinstance(tool_input, str):
                return tool_input
            return json.dumps(tool_input, ensure_ascii=False)
    return "".join(text_or_empty(nested_value(block, "text")) for block in blocks)
