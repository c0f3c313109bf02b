"""The wire format of OpenAI's chat completions, and of the many servers compatible with it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse
from turnetl.llm.error_responses import (
    join_path,
    nested_value,
    text_or_empty,
    token_count,
)
from turnetl.llm.providers.schemas import bounded, strict

BASE_URL = "https://api.openai.com/v1"

_MODEL_NAME = re.compile(r"(?:.*/)?(?:gpt-(?P<version>\d+(?:\.\d+)?)|(?P<o>o\d))(?P<kind>.*)")
"""The name of an OpenAI model, also at a gateway: `openai/gpt-5.1-mini`."""
_FIXED_EFFORT = ("-pro", "-chat", "-codex")
"""Variants whose effort cannot be set."""
_FIXED_TEMPERATURE = re.compile(r"(?:.*/)?(?:o\d|gpt-[5-9]|gpt-\d\d|claude-|gpt-4o.*-search)")
"""Models that reject the parameter, whichever server runs them."""
_MIN_CACHED = 4_000
"""Characters. A prompt below about 1,024 tokens is not cached."""
_REASONING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


@dataclass(frozen=True)
class OpenAiCompatibleAdapter:
    """llama.cpp, vLLM, Ollama, gateways: `base_url` includes `/v1`.

    The schema is sent as pydantic generates it, as Graphiti does: these servers support all of JSON
    Schema or none of it. Without a schema, the response format is any JSON object.
    """

    model: str
    base_url: str
    effort: str | None = None
    provider: str = "openai-compatible"

    def url(self) -> str:
        return join_path(self.base_url, "/chat/completions")

    def headers(self, api_key: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def request_body(self, request: ChatRequest) -> dict[str, Any]:
        is_reasoning = _is_reasoning(self.model)
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": message.role, "content": message.text} for message in request.messages
            ],
            # Reasoning models reject the old name.
            "max_completion_tokens" if is_reasoning else "max_tokens": request.max_tokens,
            "response_format": {"type": "json_object"},
        }
        if not _FIXED_TEMPERATURE.match(self.model):
            body["temperature"] = 0
        if self.effort is not None:
            body["reasoning_effort"] = self.effort
        if request.schema is not None:
            limited = bounded(request.schema.json, request.max_items)
            schema = {"name": request.schema.name, "schema": limited}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def parse_response(self, body: Mapping[str, Any]) -> ChatResponse:
        message, usage = nested_value(body, "choices", 0, "message"), nested_value(body, "usage")
        finish_reason = nested_value(body, "choices", 0, "finish_reason")
        return ChatResponse(
            text=_response_text(message),
            prompt_tokens=token_count(usage, "prompt_tokens"),
            completion_tokens=_completion_tokens(usage),
            truncated=finish_reason == "length",
            cache_write_tokens=token_count(usage, "prompt_tokens_details", "cache_write_tokens"),
            cached_tokens=token_count(usage, "prompt_tokens_details", "cached_tokens")
            or token_count(usage, "prompt_cache_hit_tokens"),
            refused=bool(nested_value(message, "refusal"))
            or finish_reason in ("content_filter", "refusal"),
        )


@dataclass(frozen=True)
class OpenAiAdapter(OpenAiCompatibleAdapter):
    """OpenAI itself: enforces the schema.

    Reasoning models use their lowest effort by default, as with Graphiti's own client: thoughts are
    billed like responses.
    """

    base_url: str = BASE_URL
    provider: str = "openai"

    def request_body(self, request: ChatRequest) -> dict[str, Any]:
        body = super().request_body(request)
        body.pop("max_tokens", None)
        body["max_completion_tokens"] = request.max_tokens
        if effort := self.effort or _lowest_effort(self.model):
            body["reasoning_effort"] = effort
        if _version(self.model) >= (5, 6):
            # These charge a quarter more for what they cache, by default every prompt. Of the
            # prompts of a run only the instructions are sent again.
            body["prompt_cache_options"] = {"mode": "explicit"}
            body["messages"] = [_cacheable(message) for message in request.messages]
        if request.schema is not None:
            schema = {"name": request.schema.name, "schema": strict(request.schema.json)}
            body["response_format"]["json_schema"] = schema | {"strict": True}
        return body


def _version(model: str) -> tuple[int, ...]:
    """Return the version of a GPT model; (0,) for any other name."""
    match = _MODEL_NAME.fullmatch(model)
    version = match["version"] if match else None
    return tuple(map(int, version.split("."))) if version else (0,)


def _is_reasoning(model: str) -> bool:
    match = _MODEL_NAME.fullmatch(model)
    return match is not None and (match["o"] is not None or _version(model) >= (5,))


def _lowest_effort(model: str) -> str | None:
    """Return the lowest effort that the model supports; None if its effort cannot be set."""
    match = _MODEL_NAME.fullmatch(model)
    if match is None or not _is_reasoning(model) or match["kind"].startswith(_FIXED_EFFORT):
        return None
    if match["o"] or match["kind"].startswith("-astra"):
        return "low"
    return "none" if _version(model) >= (5, 1) else "minimal"


def _cacheable(message: ChatMessage) -> dict[str, Any]:
    """Mark long instructions for the prompt cache: they are the same for every turn."""
    if message.role != "system" or len(message.text) < _MIN_CACHED:
        return {"role": message.role, "content": message.text}
    mark = {"mode": "explicit"}
    part = {"type": "text", "text": message.text, "prompt_cache_breakpoint": mark}
    return {"role": message.role, "content": [part]}


def _response_text(message: Any) -> str:
    """Return the text without the reasoning in front of it.

    Some servers that separate reasoning from the response put all of the response into reasoning.
    """
    response = _REASONING.sub("", _joined(nested_value(message, "content"))).strip()
    if response:
        return response
    reasoning = text_or_empty(
        nested_value(message, "reasoning_content") or nested_value(message, "reasoning")
    ).strip()
    return reasoning if reasoning.startswith("{") else ""


def _joined(content: Any) -> str:
    if isinstance(content, list):
        return "".join(text_or_empty(nested_value(part, "text")) for part in content)
    return text_or_empty(content)


def _completion_tokens(usage: Any) -> int:
    """Return all generated tokens; some servers count reasoning tokens in the total only."""
    rest = token_count(usage, "total_tokens") - token_count(usage, "prompt_tokens")
    return max(token_count(usage, "completion_tokens"), rest)
