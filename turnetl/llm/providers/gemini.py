"""The wire format of Google's generateContent API."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnetl.llm.chat import ChatRequest, ChatResponse, Role
from turnetl.llm.error_responses import (
    join_path,
    nested_value,
    text_or_empty,
    token_count,
)
from turnetl.llm.providers.schemas import gemini

BASE_URL = "https://generativelanguage.googleapis.com/v1beta"
_ROLES: Mapping[Role, str] = {"user": "user", "assistant": "model"}
_NAME = re.compile(r"gemini-(?P<version>\d+(?:\.\d+)?)-?(?P<kind>.*)")
_REFUSED = ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")


@dataclass(frozen=True)
class GeminiAdapter:
    """Reasoning models use their lowest effort by default: thoughts are billed."""

    model: str
    base_url: str = BASE_URL
    effort: str | None = None
    provider: str = "gemini"

    def url(self) -> str:
        model = self.model.removeprefix("models/")
        return join_path(self.base_url, f"/models/{model}:generateContent")

    def headers(self, api_key: str | None) -> dict[str, str]:
        return {"x-goog-api-key": api_key} if api_key else {}

    def request_body(self, request: ChatRequest) -> dict[str, Any]:
        config: dict[str, Any] = {"maxOutputTokens": request.max_tokens}
        if (1,) <= _version(self.model) < (3,):
            # Later models repeat themselves with any temperature but their default.
            config["temperature"] = 0
        if thinking := self._thinking():
            config["thinkingConfig"] = thinking
        if request.schema is not None:
            config["responseMimeType"] = "application/json"
            config["responseSchema"] = gemini(request.schema.json)
        body = {
            "contents": [
                {"role": _ROLES[message.role], "parts": [{"text": message.text}]}
                for message in request.messages
                if message.role != "system"
            ],
            "generationConfig": config,
        }
        system = [
            {"text": message.text} for message in request.messages if message.role == "system"
        ]
        return body | ({"systemInstruction": {"parts": system}} if system else {})

    def parse_response(self, body: Mapping[str, Any]) -> ChatResponse:
        parts = nested_value(body, "candidates", 0, "content", "parts")
        usage = nested_value(body, "usageMetadata")
        finish_reason = nested_value(body, "candidates", 0, "finishReason")
        return ChatResponse(
            text="".join(
                text_or_empty(nested_value(part, "text"))
                for part in (parts if isinstance(parts, list) else [])
                if not nested_value(part, "thought")
            ),
            prompt_tokens=token_count(usage, "promptTokenCount"),
            completion_tokens=token_count(usage, "candidatesTokenCount")
            + token_count(usage, "thoughtsTokenCount"),
            truncated=finish_reason == "MAX_TOKENS",
            cached_tokens=token_count(usage, "cachedContentTokenCount"),
            refused=finish_reason in _REFUSED
            or bool(nested_value(body, "promptFeedback", "blockReason")),
        )

    def _thinking(self) -> dict[str, Any]:
        version = _version(self.model)
        if version >= (3,):
            return {"thinkingLevel": self.effort or "low"}
        if version >= (2, 5):
            return {"thinkingBudget": 128 if "pro" in self.model else 0}
        return {}


def _version(model: str) -> tuple[int, ...]:
    """Return the version of a Gemini model; (0,) for any other name."""
    match = _NAME.match(model.removeprefix("models/"))
    return tuple(map(int, match["version"].split("."))) if match else (0,)
