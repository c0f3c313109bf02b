"""Responses of models that repeat themselves: a limit that ends them, and what of them is kept.

Small models may write the same entries until their context is full. A response that is longer than
the message that it answers says nothing new.
"""

import json
import zlib
from dataclasses import replace

from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse, ModelWrapper

_LEAST = 1_000
"""Tokens that any response may have."""
_CHARS_PER_TOKEN = 4
_TAIL = 2_000
"""Characters at the end of a response that tell whether it repeats itself."""
_REPETITIVE = 8
"""As many times these are longer than compressed; lists of different entries are 3 to 5 times."""


def sensible_tokens(request: ChatRequest) -> int:
    """Return the tokens of the longest response that makes sense: as long as what is asked."""
    return min(max(_LEAST, request.asked_characters // _CHARS_PER_TOKEN), request.max_tokens)


def is_truncated(response: ChatResponse, limit: int) -> bool:
    """Return whether the limit truncated the response; some servers do not say so."""
    return response.truncated or response.completion_tokens >= limit


def repeats_itself(text: str) -> bool:
    """Return whether the end of a text consists of repetitions."""
    tail = text[-_TAIL:].encode()
    return len(tail) >= _TAIL and len(zlib.compress(tail)) * _REPETITIVE <= len(tail)


def distinct_entries(text: str) -> str | None:
    """Return a truncated JSON object with each entry of its list once; None if it has no entry."""
    decoder = json.JSONDecoder()
    entries: dict[str, None] = {}
    head, opening, rest = text.partition("[")
    try:
        while opening and rest:
            entry, end = decoder.raw_decode(rest := rest.lstrip(", \t\r\n"))
            entries[json.dumps(entry, sort_keys=True)] = None
            rest = rest[end:]
    except (ValueError, RecursionError):  # the end
        pass
    return f"{head}[{', '.join(entries)}]}}" if entries else None


class BoundedModel(ModelWrapper):
    """A model whose responses have the limit of their task, until one to their prompt needs more.

    A model that thinks before it responds has no such limit after its first thoughts.
    """

    def __init__(self, model: ChatModel) -> None:
        super().__init__(model)
        self._unlimited: set[str] = set()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Request a response again, without the limit, if that cut something new."""
        is_free = request.prompt_name in self._unlimited
        limit = request.max_tokens if is_free else sensible_tokens(request)
        response = await self._model.complete(replace(request, max_tokens=limit))
        is_cut = limit < request.max_tokens and is_truncated(response, limit)
        if not is_cut or repeats_itself(response.text):
            return response
        self._unlimited.add(request.prompt_name)
        whole = await self._model.complete(request)
        return whole.with_usage(whole.usage + response.usage)
