"""How long an answer may be of a model that has less room than is asked for.

Many servers refuse a request if it and the longest answer asked for do not fit their context
together, or if that answer is longer than the model can give. They say how much would fit: it is
learnt from that, once a model.
"""

import re
from dataclasses import replace

from turnetl.errors import TooLong
from turnetl.llm.chat import ChatRequest

_LEAST = 1_000
"""Tokens of an answer: with less room, it is the request that is too long."""
_MARGIN = 1.1
"""Of a request's tokens: others may have more in a character."""
_AROUND = 100
"""Tokens that a server puts around a request."""

_ANSWER = re.compile(
    r"at most (\d+) (?:completion|output) tokens|max_tokens: \d+ > (\d+)"
    r"|from 1 \(inclusive\) to (\d+) \((?:in|ex)clusive\)"
)
"""OpenAI, Anthropic, Gemini: of any answer."""
_CONTEXT = re.compile(r"(?:maximum context length is|context window of) (\d+)")
_QUESTION = re.compile(r"(\d+) (?:in the messages|in your prompt|in the prompt|input tokens)")
"""OpenAI, vLLM, gateways."""


def states_output_limit(words: str) -> bool:
    """Whether a provider says how long an answer may be at most."""
    return _number(_ANSWER, words) is not None


class ContextWindow:
    """What is known of a model's room; nothing at first."""

    def __init__(self) -> None:
        self._answer: int | None = None
        self._context: int | None = None
        self._a_character = 0.0
        """Tokens."""

    def fitted(self, request: ChatRequest) -> ChatRequest:
        """Return the request with no longer an answer than there is room for.

        Raises:
            TooLong: there is too little.
        """
        most = request.max_tokens
        if self._answer is not None:
            most = min(most, self._answer)
        if self._context is not None:
            left = self._context - self._tokens(request)
            if left < min(_LEAST, most):
                raise TooLong(
                    f"a request of about {self._tokens(request):,} tokens leaves no room for an "
                    f"answer in the model's {self._context:,}"
                )
            most = min(most, left)
        return request if most == request.max_tokens else replace(request, max_tokens=most)

    def learn(self, words: str, asked: ChatRequest) -> bool:
        """Return whether the request may be asked again, for a shorter answer.

        Args:
            words: in which the provider said that it does not fit.
            asked: as it was sent.

        Raises:
            TooLong: there is too little room for any answer.
        """
        if answer := _number(_ANSWER, words):
            # Some name the first number that is too many.
            self._answer = min(self._answer or answer, answer - 1)
        context, tokens = _number(_CONTEXT, words), _number(_QUESTION, words)
        if context and tokens:
            self._context = context
            a_character = tokens * _MARGIN / max(1, _characters(asked))
            self._a_character = max(self._a_character, a_character)
        return self.fitted(asked).max_tokens < asked.max_tokens

    def _tokens(self, request: ChatRequest) -> int:
        return int(_characters(request) * self._a_character) + _AROUND


def _characters(request: ChatRequest) -> int:
    return sum(len(said.text) for said in request.messages)


def _number(pattern: re.Pattern[str], words: str) -> int | None:
    found = pattern.search(words.replace(",", ""))
    return next((int(group) for group in found.groups() if group), None) if found else None
