"""Upper bounds of prompts, from prompts of the same name whose tokens were counted.

The instructions are the same in every prompt of a name. Only the text that differs may have a token
per byte, as `cost_bounds.max_prompt_tokens` assumes of the whole prompt.
"""

from dataclasses import dataclass

from turnetl.llm.chat import ChatRequest

_SEAM = 64
"""Tokens that the text around the differing part may have more than in the counted prompt: words
that were one token are cut there."""


@dataclass(frozen=True, slots=True)
class _CountedPrompt:
    text: str
    tokens: int


class PromptBounds:
    """The prompts of one model: the shortest of each name."""

    def __init__(self) -> None:
        self._counted: dict[str, _CountedPrompt] = {}

    def add(self, request: ChatRequest, tokens: int) -> None:
        """Count a prompt.

        Args:
            request: the request.
            tokens: of its prompt, as the provider counted them.
        """
        counted = self._counted.get(request.prompt_name)
        if counted is None or tokens < counted.tokens:
            self._counted[request.prompt_name] = _CountedPrompt(_text(request), tokens)

    def max_tokens(self, request: ChatRequest) -> int | None:
        """Return an upper bound of the prompt; None if no prompt of its name was counted.

        The schema is part of it: a server that rejects schemas gets it in the prompt from then on.
        """
        counted = self._counted.get(request.prompt_name)
        if counted is None:
            return None
        schema = request.schema.serialized if request.schema is not None else ""
        differing = _differing(counted.text, _text(request)) + schema
        return counted.tokens + len(differing.encode("utf-8", "replace")) + _SEAM


def _text(request: ChatRequest) -> str:
    return "\0".join(f"{message.role} {message.text}" for message in request.messages)


def _differing(counted: str, text: str) -> str:
    """Return the text without the longest beginning and end that it has in common with another."""
    start = _common_prefix(counted, text)
    end = _common_prefix(counted[start:][::-1], text[start:][::-1])
    return text[start : len(text) - end]


def _common_prefix(first: str, second: str) -> int:
    """Return the length of the common prefix, by bisection: comparing slices is fast."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
