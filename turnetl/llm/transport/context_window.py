"""The response limit of a model whose context window is smaller than a request assumes.

Many servers reject a request if prompt and maximal response together exceed the context window, or
if the maximal response exceeds what the model can generate. Their errors state the limit. It is
learned from the error, once per model.
"""

import re
from dataclasses import replace

from turnetl.base.errors import TooLong
from turnetl.llm.chat import ChatRequest

_MIN_RESPONSE = 1_000
"""Tokens. If less remains for the response, the prompt is too long."""
_MARGIN = 1.1
"""Factor on the prompt's tokens: another prompt may have more tokens per character."""
_OVERHEAD = 100
"""Tokens that a server adds to a prompt."""

_OUTPUT_LIMIT = re.compile(
    r"at most (\d+) (?:completion|output) tokens|max_tokens: \d+ > (\d+)"
    r"|from 1 \(inclusive\) to (\d+) \((?:in|ex)clusive\)"
)
"""The limit of any response, as OpenAI, Anthropic and Gemini state it."""
_CONTEXT = re.compile(r"(?:maximum context length is|context window of) (\d+)")
_PROMPT = re.compile(r"(\d+) (?:in the messages|in your prompt|in the prompt|input tokens)")
"""As OpenAI, vLLM and gateways state it."""


def states_output_limit(message: str) -> bool:
    """Return whether an error message states the limit of a response."""
    return _number(_OUTPUT_LIMIT, message) is not None


class ContextWindow:
    """The known limits of a model; none at first."""

    def __init__(self) -> None:
        self._output_limit: int | None = None
        self._context: int | None = None
        self._tokens_per_character = 0.0

    def limited(self, request: ChatRequest) -> ChatRequest:
        """Return the request with `max_tokens` reduced to the known limits.

        Raises:
            TooLong: the prompt leaves no room for a response.
        """
        limit = request.max_tokens
        if self._output_limit is not None:
            limit = min(limit, self._output_limit)
        if self._context is not None:
            prompt = self._prompt_tokens(request)
            remaining = self._context - prompt
            if remaining < min(_MIN_RESPONSE, limit):
                raise TooLong(
                    f"a prompt of about {prompt:,} tokens leaves no room for a response in the "
                    f"model's context window of {self._context:,}"
                )
            limit = min(limit, remaining)
        return request if limit == request.max_tokens else replace(request, max_tokens=limit)

    def learn(self, message: str, sent: ChatRequest) -> bool:
        """Learn limits from an error; return whether to retry with a smaller `max_tokens`.

        Args:
            message: the provider's error message.
            sent: the request as it was sent.

        Raises:
            TooLong: the prompt leaves no room for any response.
        """
        if limit := _number(_OUTPUT_LIMIT, message):
            # Some providers state the first number that is too large.
            self._output_limit = min(self._output_limit or limit, limit - 1)
        context, tokens = _number(_CONTEXT, message), _number(_PROMPT, message)
        if context and tokens:
            self._context = context
            per_character = tokens * _MARGIN / max(1, sent.characters)
            self._tokens_per_character = max(self._tokens_per_character, per_character)
        return self.limited(sent).max_tokens < sent.max_tokens

    def _prompt_tokens(self, request: ChatRequest) -> int:
        return int(request.characters * self._tokens_per_character) + _OVERHEAD


def _number(pattern: re.Pattern[str], message: str) -> int | None:
    match = pattern.search(message.replace(",", ""))
    return next((int(group) for group in match.groups() if group), None) if match else None
