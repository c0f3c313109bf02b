"""The chat completions of OpenAI, and of the many servers that speak the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnetl.llm.chat import Answer, Question, count, dig, text
from turnetl.llm.schemas import strict

BASE_URL = "https://api.openai.com/v1"


@dataclass(frozen=True)
class OpenAiCompatible:
    """llama.cpp, vLLM, Ollama, gateways: `base_url` goes up to and with `/v1`."""

    model: str
    base_url: str
    provider: str = "openai-compatible"

    def url(self) -> str:
        return f"{self.base_url.rstrip('/')}/chat/completions"

    def headers(self, api_key: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def body(self, question: Question) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": said.role, "content": said.text} for said in question.messages],
            "max_tokens": question.max_tokens,
            "temperature": 0,
        }
        if question.schema is not None:
            form = {"name": question.schema.name, "schema": question.schema.json}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def answer(self, body: Mapping[str, Any]) -> Answer:
        return Answer(
            text=text(dig(body, "choices", 0, "message", "content")),
            prompt_tokens=count(dig(body, "usage", "prompt_tokens")),
            completion_tokens=count(dig(body, "usage", "completion_tokens")),
            cut=dig(body, "choices", 0, "finish_reason") == "length",
        )


@dataclass(frozen=True)
class OpenAi(OpenAiCompatible):
    """OpenAI itself: holds the answer to the schema, and lets newer models choose temperature."""

    base_url: str = BASE_URL
    provider: str = "openai"

    def body(self, question: Question) -> dict[str, Any]:
        body = super().body(question)
        body["max_completion_tokens"] = body.pop("max_tokens")
        del body["temperature"]
        if question.schema is not None:
            form = {"name": question.schema.name, "schema": strict(question.schema.json)}
            body["response_format"]["json_schema"] = form | {"strict": True}
        return body
