"""Google's generateContent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnetl.llm.chat import Answer, Question, Role, count, dig, text
from turnetl.llm.schemas import openapi

BASE_URL = "https://generativelanguage.googleapis.com/v1beta"
_ROLES: Mapping[Role, str] = {"user": "user", "assistant": "model"}


@dataclass(frozen=True)
class Gemini:
    model: str
    base_url: str = BASE_URL
    provider: str = "gemini"

    def url(self) -> str:
        return f"{self.base_url.rstrip('/')}/models/{self.model}:generateContent"

    def headers(self, api_key: str | None) -> dict[str, str]:
        return {"x-goog-api-key": api_key} if api_key else {}

    def body(self, question: Question) -> dict[str, Any]:
        settings: dict[str, Any] = {"maxOutputTokens": question.max_tokens, "temperature": 0}
        if question.schema is not None:
            settings["responseMimeType"] = "application/json"
            settings["responseSchema"] = openapi(question.schema.json)
        system = [{"text": said.text} for said in question.messages if said.role == "system"]
        return {
            "systemInstruction": {"parts": system},
            "contents": [
                {"role": _ROLES[said.role], "parts": [{"text": said.text}]}
                for said in question.messages
                if said.role != "system"
            ],
            "generationConfig": settings,
        }

    def answer(self, body: Mapping[str, Any]) -> Answer:
        parts = dig(body, "candidates", 0, "content", "parts")
        usage = dig(body, "usageMetadata")
        return Answer(
            text="".join(
                text(dig(part, "text"))
                for part in (parts if isinstance(parts, list) else [])
                if not dig(part, "thought")
            ),
            prompt_tokens=count(dig(usage, "promptTokenCount")),
            completion_tokens=count(dig(usage, "candidatesTokenCount"))
            + count(dig(usage, "thoughtsTokenCount")),
            cut=dig(body, "candidates", 0, "finishReason") == "MAX_TOKENS",
        )
