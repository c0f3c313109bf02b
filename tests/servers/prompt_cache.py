"""The prompt cache of a provider: how much of a prompt it has read before.

Anthropic and the newest models of OpenAI cache what a request marks, others the beginning that two
prompts share; none caches less than 1,024 tokens.
"""

import os.path
from threading import Lock

from tests.servers import wire_formats
from tests.servers.canned_responses import Json

CHARACTERS_PER_TOKEN = 4
_LEAST = 1_024
"""Tokens."""


class PromptCache:
    """The beginnings of all prompts so far."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._lock = Lock()

    def read(self, body: Json) -> int:
        """Return the tokens of the prompt that were cached, and cache the prompt."""
        prompt = _marked(body) if _is_explicit(body) else _text(body)
        with self._lock:
            shared = (len(os.path.commonprefix([prompt, one])) for one in self._seen)  # noqa: RUF071 - no paths
            longest = max(shared, default=0)
            self._seen.add(prompt)
        if _is_explicit(body) and longest < len(prompt):
            return 0
        tokens = longest // CHARACTERS_PER_TOKEN
        return tokens if tokens >= _LEAST else 0


def _is_explicit(body: Json) -> bool:
    return "prompt_cache_options" in body or ("max_tokens" in body and "system" in body)


def _marked(body: Json) -> str:
    """Return the text up to the last mark; empty without one."""
    parts = body.get("system", body["messages"][0]["content"])
    is_marked = isinstance(parts, list) and any(
        mark in parts[-1] for mark in ("cache_control", "prompt_cache_breakpoint")
    )
    return "".join(part["text"] for part in parts) if is_marked else ""


def _text(body: Json) -> str:
    return "\n".join(text for _, text in wire_formats.messages(body))
