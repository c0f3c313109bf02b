"""Limits of responses that a budget reserves, learned from the responses to such requests."""

from collections.abc import Iterator

from turnetl.llm.chat import ChatRequest

_MIN_RESPONSE = 2_048
"""Tokens. As long as nothing is learned, no smaller limit is tried: some responses need as many."""
_SAMPLES = 3
"""Responses from which limits are learned."""
_MIN_LEARNED, _MARGIN = 512, 2
"""A learned limit is at least so many tokens, and so many times the longest response so far."""
_FEW, _MARGIN_OF_FEW = 10, 4
"""With so few responses, the longest of them says less."""
_MIN_LEAST, _MARGIN_OF_LEAST = 256, 1.25
"""As above, for the smallest limit that is tried when the budget is almost used up."""


class ResponseLimits:
    """The lengths of the responses of one model, by prompt."""

    def __init__(self) -> None:
        self._longest: dict[str, int] = {}
        self._counts: dict[str, int] = {}

    def add(self, prompt_name: str, tokens: int) -> None:
        """Count a response.

        Args:
            prompt_name: of its request.
            tokens: its length; of a truncated response its limit.
        """
        self._longest[prompt_name] = max(tokens, self._longest.get(prompt_name, 0))
        self._counts[prompt_name] = self._counts.get(prompt_name, 0) + 1

    def sufficient(self, request: ChatRequest) -> tuple[int, ...]:
        """Return the limits with which the request may be sent at any time, largest first."""
        full, count = request.max_tokens, self._counts.get(request.prompt_name, 0)
        margin = _MARGIN_OF_FEW if count < _FEW else _MARGIN
        learned = max(_MIN_LEARNED, margin * self._longest.get(request.prompt_name, 0))
        return (full,) if count < _SAMPLES or learned >= full else (full, learned)

    def smaller(self, request: ChatRequest) -> Iterator[int]:
        """Yield limits that are tried if nothing else is left, largest first."""
        is_learned = self._counts.get(request.prompt_name, 0) >= _SAMPLES
        least = self.least(request) if is_learned else _MIN_RESPONSE
        limit = self.sufficient(request)[-1]
        while limit > least:
            limit = max(limit // 2, least)
            yield limit

    def least(self, request: ChatRequest) -> int:
        """Return the smallest limit that is tried, after one response or more."""
        longest = self._longest[request.prompt_name]
        return min(max(_MIN_LEAST, int(_MARGIN_OF_LEAST * longest)), request.max_tokens)

    def larger(self, request: ChatRequest, limit: int) -> tuple[int, ...]:
        """Return the limits with which a response is requested again, largest first.

        Args:
            request: the request.
            limit: the limit that truncated its response.
        """
        full = request.max_tokens
        return tuple(sorted({full, min(4 * limit, full), min(2 * limit, full)}, reverse=True))
