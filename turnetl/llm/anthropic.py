"""Anthropic's messages. A tool that must be called gives the answer its form."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnetl.llm.chat import Answer, Question, count, dig, text

BASE_URL = "https://api.anthropic.com"
_VERSION = "2023-06-01"
_MOST_TOKENS = 8192
"""Every model of theirs can give as many; more is refused by some."""


@dataclass(frozen=True)
class Anthropic:
    model: str
    base_url: str = BASE_URL
    provider: str = "anthropic"

    def url(self) -> str:
        return f"{self.base_url.rstrip('/')}/v1/messages"

    def headers(self, api_key: str | None) -> dict[str, str]:
        return {"anthropic-version": _VERSION} | ({"x-api-key": api_key} if api_key else {})

    def body(self, question: Question) -> dict[str, Any]:
        system = "\n\n".join(said.text for said in question.messages if said.role == "system")
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": min(question.max_tokens, _MOST_TOKENS),
            "system": system,
            "messages": [
                {"role": said.role, "content": said.text}
                for said in question.messages
                if said.role != "system"
            ],
        }
        if question.schema is not None:
            tool = {"name": question.schema.name, "input_schema": question.schema.json}
            body["tools"] = [tool | {"description": "Gives the answer."}]
            body["tool_choice"] = {"type": "tool", "name": question.schema.name}
        return body

    def answer(self, body: Mapping[str, Any]) -> Answer:
        content = dig(body, "content")
        return Answer(
            text=_said(content if isinstance(content, list) else []),
            prompt_tokens=sum(
                count(dig(body, "usage", name))
                for name in (
                    "input_tokens",
                    "cache_creation_input_tokens",
                    "cache_read_input_tokens",
                )
            ),
            completion_tokens=count(dig(body, "usage", "output_tokens")),
            cut=dig(body, "stop_reason") == "max_tokens",
        )


def _said(blocks: list[Any]) -> str:
    """Return the input of the tool that was called, or else the text."""
    for block in blocks:
        if dig(block, "type") == "tool_use":
            return json.dumps(dig(block, "input"), ensure_ascii=False)
    return "".join(text(dig(block, "text")) for block in blocks)
