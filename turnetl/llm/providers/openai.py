"""The chat completions of OpenAI, and of the many servers that speak the same."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse
from turnetl.llm.providers.schemas import strict
from turnetl.llm.transport.payload import join_path, nested, text_or_empty, token_count

BASE_URL = "https://api.openai.com/v1"

_OPENAIS = re.compile(r"(?:.*/)?(?:gpt-(?P<version>\d+(?:\.\d+)?)|(?P<o>o\d))(?P<kind>.*)")
"""A model of OpenAI, also by its name at a gateway: `openai/gpt-5.1-mini`."""
_AS_THEY_ARE = ("-pro", "-chat", "-codex")
"""Kinds whose effort is not ours to choose."""
_OWN_TEMPERATURE = re.compile(r"(?:.*/)?(?:o\d|gpt-[5-9]|gpt-\d\d|claude-|gpt-4o.*-search)")
"""Models that refuse to be given one, whoever serves them."""
_WORTH_CACHING = 4_000
"""Characters: under about 1,024 tokens nothing is kept."""
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


@dataclass(frozen=True)
class OpenAiCompatibleAdapter:
    """llama.cpp, vLLM, Ollama, gateways: `base_url` goes up to and with `/v1`.

    The schema goes as pydantic writes it, as Graphiti sends it: these servers take the whole of
    JSON Schema, or none of it, which is no matter of dialect. Where a request has no schema,
    any JSON object is asked for.
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
        thinks = _thinks(self.model)
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": said.role, "content": said.text} for said in request.messages],
            # Of models that think, the old name is refused.
            "max_completion_tokens" if thinks else "max_tokens": request.max_tokens,
            "response_format": {"type": "json_object"},
        }
        if not _OWN_TEMPERATURE.match(self.model):
            body["temperature"] = 0
        if self.effort is not None:
            body["reasoning_effort"] = self.effort
        if request.schema is not None:
            form = {"name": request.schema.name, "schema": request.schema.json}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def parse_response(self, body: Mapping[str, Any]) -> ChatResponse:
        message, usage = nested(body, "choices", 0, "message"), nested(body, "usage")
        ended = nested(body, "choices", 0, "finish_reason")
        return ChatResponse(
            text=_said(message),
            prompt_tokens=token_count(nested(usage, "prompt_tokens")),
            completion_tokens=_completion(usage),
            truncated=ended == "length",
            cached_tokens=token_count(
                nested(usage, "prompt_tokens_details", "cached_tokens")
                or nested(usage, "prompt_cache_hit_tokens")
            ),
            refused=bool(nested(message, "refusal")) or ended in ("content_filter", "refusal"),
        )


@dataclass(frozen=True)
class OpenAiAdapter(OpenAiCompatibleAdapter):
    """OpenAI itself: holds the answer to the schema.

    Models that think are told to think as little as they can, as Graphiti's own client does:
    thoughts are paid for like answers.
    """

    base_url: str = BASE_URL
    provider: str = "openai"

    def request_body(self, request: ChatRequest) -> dict[str, Any]:
        body = super().request_body(request)
        body.pop("max_tokens", None)
        body["max_completion_tokens"] = request.max_tokens
        if effort := self.effort or _least_effort(self.model):
            body["reasoning_effort"] = effort
        if _version(self.model) >= (5, 6):
            # These charge a quarter more for prompts they keep, and by default keep all: ours
            # differ early on, and are read once.
            body["prompt_cache_options"] = {"mode": "explicit"}
            body["messages"] = [_marked(said) for said in request.messages]
        if request.schema is not None:
            form = {"name": request.schema.name, "schema": strict(request.schema.json)}
            body["response_format"]["json_schema"] = form | {"strict": True}
        return body


def _version(model: str) -> tuple[int, ...]:
    """Return the version of a GPT; (0,) of what is none."""
    found = _OPENAIS.fullmatch(model)
    version = found["version"] if found else None
    return tuple(map(int, version.split("."))) if version else (0,)


def _thinks(model: str) -> bool:
    found = _OPENAIS.fullmatch(model)
    return found is not None and (found["o"] is not None or _version(model) >= (5,))


def _least_effort(model: str) -> str | None:
    """Return the least effort that the model takes; None if it takes no word on it."""
    found = _OPENAIS.fullmatch(model)
    if found is None or not _thinks(model) or found["kind"].startswith(_AS_THEY_ARE):
        return None
    if found["o"] or found["kind"].startswith("-astra"):
        return "low"
    return "none" if _version(model) >= (5, 1) else "minimal"


def _marked(said: ChatMessage) -> dict[str, Any]:
    """Mark long instructions as worth keeping: they are the same for every turn."""
    if said.role != "system" or len(said.text) < _WORTH_CACHING:
        return {"role": said.role, "content": said.text}
    mark = {"mode": "explicit"}
    part = {"type": "text", "text": said.text, "prompt_cache_breakpoint": mark}
    return {"role": said.role, "content": [part]}


def _said(message: Any) -> str:
    """Return the text without the thoughts before it.

    Some servers that tell thoughts from answers take the whole answer for a thought.
    """
    said = _joined(nested(message, "content"))
    answer = _THOUGHT.sub("", said).strip()
    if answer:
        return answer
    thought = text_or_empty(
        nested(message, "reasoning_content") or nested(message, "reasoning")
    ).strip()
    return thought if thought.startswith("{") else ""


def _joined(content: Any) -> str:
    if isinstance(content, list):
        return "".join(text_or_empty(nested(part, "text")) for part in content)
    return text_or_empty(content)


def _completion(usage: Any) -> int:
    """Return all tokens that were generated; some leave thoughts out of all but the total."""
    rest = token_count(nested(usage, "total_tokens")) - token_count(nested(usage, "prompt_tokens"))
    return max(token_count(nested(usage, "completion_tokens")), rest)
