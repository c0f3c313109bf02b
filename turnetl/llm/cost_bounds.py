"""The worst case of a request: the upper bound that a budget reserves and that retries keep to."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from turnetl.llm.chat import ChatRequest
from turnetl.llm.prices import Price
from turnetl.model import Usage

_ATTEMPTS = 2
"""Responses of maximal length that are reserved; shorter responses leave room for more."""
_MIN_RESPONSE = 2_048
"""Tokens. A smaller limit is not tried: some responses need as many."""
_CORRECTION = 700
"""Tokens that describe the error of an invalid response."""
_PER_MESSAGE = 16
"""Tokens of overhead."""
_PER_REQUEST = 1_000
"""Tokens that a provider adds so that the response follows its schema."""


@dataclass(frozen=True, slots=True)
class CostBound:
    """The most that a request may use."""

    tokens: int
    usd: float
    """US dollars; 0 if the budget is not in dollars."""
    max_tokens: int = 0
    """Limit of the response."""


def worst_case(request: ChatRequest, price: Price | None) -> CostBound:
    """Return the most that a request may use: repeated once, with responses of maximal length.

    `retry.RetryingModel` keeps to this bound: before each retry it calls `allows_retry`.
    """
    usage = max_usage(request, _ATTEMPTS)
    return CostBound(
        total_tokens(usage), price.max_cost(usage) if price else 0.0, request.max_tokens
    )


def allows_retry(request: ChatRequest, spent: Usage, repeated: ChatRequest) -> bool:
    """Return whether the repeated request still fits into the reservation of the request."""
    reserved, needed = max_usage(request, _ATTEMPTS), max_usage(repeated, 1)
    return (
        spent.prompt_tokens + needed.prompt_tokens <= reserved.prompt_tokens
        and spent.completion_tokens + needed.completion_tokens <= reserved.completion_tokens
    )


def max_usage(request: ChatRequest, attempts: int) -> Usage:
    """Return the usage of responses of maximal length, each quoted in the request after it."""
    prompt, response = _max_prompt_tokens(request), request.max_tokens
    return Usage(
        prompt_tokens=sum(
            prompt + attempt * (response + _CORRECTION) for attempt in range(attempts)
        ),
        completion_tokens=attempts * response,
    )


def shrinking_bounds(request: ChatRequest, price: Price | None) -> Iterator[CostBound]:
    """Yield the worst case of the request, then with ever smaller limits of the response."""
    limit = request.max_tokens
    yield worst_case(request, price)
    while limit > _MIN_RESPONSE:
        limit = max(limit // 2, _MIN_RESPONSE)
        yield worst_case(replace(request, max_tokens=limit), price)


def total_tokens(usage: Usage) -> int:
    """Return the tokens of prompts and responses."""
    return usage.prompt_tokens + usage.completion_tokens


def _max_prompt_tokens(request: ChatRequest) -> int:
    """Return an upper bound of the prompt's tokens: no token is shorter than a byte.

    Prose has about four bytes per token, but lists of digits and random letters have hardly more
    than one. The schema counts twice: it is sent as a parameter, and to some servers in the prompt
    too.
    """
    texts = [message.text for message in request.messages]
    schema = request.schema.serialized if request.schema is not None else ""
    size = sum(len(text.encode("utf-8", "replace")) for text in (*texts, schema, schema))
    return size + _PER_MESSAGE * len(texts) + _PER_REQUEST
