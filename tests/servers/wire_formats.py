"""The wire formats of providers, from the server's side."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tests.servers.canned_responses import Answers, Json

End = Literal["whole", "cut", "refused"]


@dataclass(frozen=True)
class Words:
    """What a model says, how it ends, and what is charged for it."""

    text: str
    end: End = "whole"
    prompt_tokens: int = 100
    completion_tokens: int = 10


def reply(path: str, words: Words) -> Json | None:
    """Return the response's body in the format of that path; None if there is no such path."""
    wire = next((wire for end, wire in _WIRES.items() if path.endswith(end)), None)
    return wire(words) if wire else None


def messages(body: Json) -> list[tuple[str, str]]:
    """Return role and text of each message, the system's first, in whatever format it came."""
    if "contents" in body:
        system = [("system", part["text"]) for part in body["systemInstruction"]["parts"]]
        rest = [(turn["role"], turn["parts"][0]["text"]) for turn in body["contents"]]
        return [*system, *rest]
    system = [("system", _text(body["system"]))] if "system" in body else []
    return [*system, *((m["role"], _text(m["content"])) for m in body["messages"])]


def fields(body: Json) -> set[str]:
    """Return the fields that the answer shall have."""
    form = body.get("response_format", {}).get("json_schema")
    form = form or body.get("output_config", {}).get("format") or {}
    schema = form.get("schema") or body.get("generationConfig", {}).get("responseSchema") or {}
    if "tools" in body:
        schema = body["tools"][0]["input_schema"]
    return set(schema.get("properties", {}))


def _text(content: str | list[Json]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def canned(body: Json, answers: Answers) -> str:
    """Return what the answers say to a question."""
    wanted = fields(body)
    prompt = next(text for role, text in messages(body) if role == "user")
    answer = next((answer for name, answer in answers.items() if name in wanted), None)
    return json.dumps(answer(prompt) if answer else {})


def _openai(words: Words) -> Json:
    message: Json = {"role": "assistant", "content": words.text}
    if words.end == "refused":
        message |= {"content": None, "refusal": words.text}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "canned",
        "choices": [
            {
                "index": 0,
                "finish_reason": "length" if words.end == "cut" else "stop",
                "message": message,
            }
        ],
        "usage": {
            "prompt_tokens": words.prompt_tokens,
            "completion_tokens": words.completion_tokens,
            "total_tokens": words.prompt_tokens + words.completion_tokens,
        },
    }


def _anthropic(words: Words) -> Json:
    block = {"type": "text", "text": words.text}
    if words.end == "whole":
        block = _tool(words.text) or block
    read = words.prompt_tokens * 2 // 5
    return {
        "content": [block],
        "stop_reason": {"whole": "end_turn", "cut": "max_tokens", "refused": "refusal"}[words.end],
        "usage": {
            "input_tokens": words.prompt_tokens - read,
            "cache_read_input_tokens": read,
            "output_tokens": words.completion_tokens,
        },
    }


def _tool(said: str) -> Json | None:
    try:
        return {"type": "tool_use", "id": "t", "name": "answer", "input": json.loads(said)}
    except ValueError:
        return None


def _gemini(words: Words) -> Json:
    thought = min(3, words.completion_tokens)
    usage: Mapping[str, Any] = {
        "promptTokenCount": words.prompt_tokens,
        "candidatesTokenCount": words.completion_tokens - thought,
        "thoughtsTokenCount": thought,
    }
    if words.end == "refused":
        return {"candidates": [{"finishReason": "SAFETY"}], "usageMetadata": usage}
    parts = [{"text": "thinking", "thought": True}, {"text": words.text}]
    candidate = {
        "content": {"role": "model", "parts": parts},
        "finishReason": "MAX_TOKENS" if words.end == "cut" else "STOP",
    }
    return {"candidates": [candidate], "usageMetadata": usage}


_WIRES: Mapping[str, Callable[[Words], Json]] = {
    "/v1/chat/completions": _openai,
    "/v1/messages": _anthropic,
    ":generateContent": _gemini,
}
