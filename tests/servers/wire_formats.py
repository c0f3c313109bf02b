"""The wire formats of providers, on the side of the server."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tests.servers.canned_responses import Json, Responders
from tests.servers.fact_questions import with_fact_questions

FinishReason = Literal["complete", "truncated", "refused"]


@dataclass(frozen=True)
class CannedResponse:
    """The text of a response, why it ended, and its token counts."""

    text: str
    finish_reason: FinishReason = "complete"
    prompt_tokens: int = 100
    completion_tokens: int = 10
    cached_tokens: int | None = None
    """Part of the prompt tokens; None: as a server that reports no cache, with Anthropic two
    fifths."""


def response_body(path: str, response: CannedResponse) -> Json | None:
    """Return the body in the format of that path; None if the path is unknown."""
    matching = (build for suffix, build in _FORMATS.items() if path.endswith(suffix))
    build = next(matching, None)
    return build(response) if build else None


def messages(body: Json) -> list[tuple[str, str]]:
    """Return role and text of each message, system messages first, of any format."""
    if "contents" in body:
        system = [("system", part["text"]) for part in body["systemInstruction"]["parts"]]
        rest = [(content["role"], content["parts"][0]["text"]) for content in body["contents"]]
        return [*system, *rest]
    system = [("system", _text(body["system"]))] if "system" in body else []
    return [
        *system,
        *((message["role"], _text(message["content"])) for message in body["messages"]),
    ]


def fields(body: Json) -> set[str]:
    """Return the fields of the response's schema."""
    response_format = body.get("response_format", {}).get("json_schema")
    response_format = response_format or body.get("output_config", {}).get("format") or {}
    schema = (
        response_format.get("schema")
        or body.get("generationConfig", {}).get("responseSchema")
        or {}
    )
    if "tools" in body:
        schema = body["tools"][0]["input_schema"]
    return set(schema.get("properties", {}))


def _text(content: str | list[Json]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def canned_text(body: Json, responders: Responders) -> str:
    """Return the text of the response to a request."""
    names, sent = fields(body), messages(body)
    roles = [role for role, _ in sent]
    # Later messages are about an invalid response.
    prompt = "\n".join(text for _, text in sent[: roles.index("user") + 1])
    known = with_fact_questions(responders)
    respond = next((respond for name, respond in known.items() if name in names), None)
    return json.dumps(respond(prompt) if respond else {})


def _openai(response: CannedResponse) -> Json:
    message: Json = {"role": "assistant", "content": response.text}
    if response.finish_reason == "refused":
        message |= {"content": None, "refusal": response.text}
    details = {"prompt_tokens_details": {"cached_tokens": response.cached_tokens}}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "canned",
        "choices": [
            {
                "index": 0,
                "finish_reason": "length" if response.finish_reason == "truncated" else "stop",
                "message": message,
            }
        ],
        "usage": {
            "prompt_tokens": response.prompt_tokens,
            "completion_tokens": response.completion_tokens,
            "total_tokens": response.prompt_tokens + response.completion_tokens,
            **({} if response.cached_tokens is None else details),
        },
    }


_ANTHROPIC_STOP_REASONS: Mapping[FinishReason, str] = {
    "complete": "end_turn",
    "truncated": "max_tokens",
    "refused": "refusal",
}


def _anthropic(response: CannedResponse) -> Json:
    block = {"type": "text", "text": response.text}
    if response.finish_reason == "complete":
        block = _tool_call(response.text) or block
    cached = response.cached_tokens
    if cached is None:
        cached = response.prompt_tokens * 2 // 5
    return {
        "content": [block],
        "stop_reason": _ANTHROPIC_STOP_REASONS[response.finish_reason],
        "usage": {
            "input_tokens": response.prompt_tokens - cached,
            "cache_read_input_tokens": cached,
            "output_tokens": response.completion_tokens,
        },
    }


def _tool_call(text: str) -> Json | None:
    try:
        return {"type": "tool_use", "id": "t", "name": "answer", "input": json.loads(text)}
    except ValueError:
        return None


def _gemini(response: CannedResponse) -> Json:
    reasoning = min(3, response.completion_tokens)
    usage: Mapping[str, Any] = {
        "promptTokenCount": response.prompt_tokens,
        "candidatesTokenCount": response.completion_tokens - reasoning,
        "thoughtsTokenCount": reasoning,
        **({"cachedContentTokenCount": response.cached_tokens} if response.cached_tokens else {}),
    }
    if response.finish_reason == "refused":
        return {"candidates": [{"finishReason": "SAFETY"}], "usageMetadata": usage}
    parts = [{"text": "thinking", "thought": True}, {"text": response.text}]
    candidate = {
        "content": {"role": "model", "parts": parts},
        "finishReason": "MAX_TOKENS" if response.finish_reason == "truncated" else "STOP",
    }
    return {"candidates": [candidate], "usageMetadata": usage}


_FORMATS: Mapping[str, Callable[[CannedResponse], Json]] = {
    "/v1/chat/completions": _openai,
    "/v1/messages": _anthropic,
    ":generateContent": _gemini,
}
