"""The most that a request may cost: the upper bound that a budget reserves and retries keep to."""

from dataclasses import dataclass, replace

from turnetl.base.model import Usage
from turnetl.llm.chat import ChatRequest
from turnetl.llm.prices import Price

_ATTEMPTS = 2
"""Responses of maximal length that a request may use; shorter responses leave room for more."""
_CORRECTION = 700
"""Tokens that describe the error of an invalid response."""
_PER_MESSAGE = 16
"""Tokens of overhead."""
_PER_REQUEST = 1_000
"""Tokens that a provider adds so that the response follows its schema."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens and US dollars, as a budget counts them."""

    tokens: float = 0
    """Of prompts and responses."""
    usd: float = 0.0
    """0 if the price is unknown: the budget is then in tokens."""

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.tokens + other.tokens, self.usd + other.usd)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.tokens - other.tokens, self.usd - other.usd)

    def __mul__(self, factor: float) -> "Amount":
        return Amount(self.tokens * factor, self.usd * factor)

    def at_least(self, other: "Amount") -> "Amount":
        """Return the greater value of each unit."""
        return Amount(max(self.tokens, other.tokens), max(self.usd, other.usd))


@dataclass(frozen=True, slots=True)
class CostBound:
    """The most that one attempt of a request may use."""

    amount: Amount
    max_tokens: int
    """Limit of the response."""


def worst_case(
    request: ChatRequest, price: Price | None, prompt_tokens: int | None = None
) -> CostBound:
    """Return the most that one attempt may use: the response has its maximal length.

    Args:
        request: the request.
        price: of the model; None: the bound is in tokens.
        prompt_tokens: upper bound of its prompt, if one below `max_prompt_tokens` is known.
    """
    usage = max_usage(request, 1)
    if prompt_tokens is not None:
        usage = replace(usage, prompt_tokens=min(prompt_tokens, usage.prompt_tokens))
    usd = price.max_cost(usage) if price else 0.0
    return CostBound(Amount(usage.tokens, usd), request.max_tokens)


def allows_retry(request: ChatRequest, spent: Usage, repeated: ChatRequest) -> bool:
    """Return whether an invalid response may be requested again.

    All responses to a request together use at most as much as two responses of maximal length.
    """
    limit, needed = max_usage(request, _ATTEMPTS), max_usage(repeated, 1)
    return (
        spent.prompt_tokens + needed.prompt_tokens <= limit.prompt_tokens
        and spent.completion_tokens + needed.completion_tokens <= limit.completion_tokens
    )


def max_usage(request: ChatRequest, attempts: int) -> Usage:
    """Return the usage of responses of maximal length, each quoted in the request after it."""
    prompt, response = max_prompt_tokens(request), request.max_tokens
    return Usage(
        prompt_tokens=sum(
            prompt + attempt * (response + _CORRECTION) for attempt in range(attempts)
        ),
        completion_tokens=attempts * response,
    )


def amount_of(usage: Usage) -> Amount:
    """Return the tokens and dollars of a usage."""
    return Amount(usage.tokens, usage.cost or 0.0)


def max_prompt_tokens(request: ChatRequest) -> int:
    """Return an upper bound of the prompt's tokens: no token is shorter than a byte.

    Prose has about four bytes per token, but lists of digits and random letters have hardly more
    than one. The schema counts twice: it is sent as a parameter, and to some servers in the prompt
    too.
    """
    texts = [message.text for message in request.messages]
    schema = request.schema.serialized if request.schema is not None else ""
    size = sum(len(text.encode("utf-8", "replace")) for text in (*texts, schema, schema))
    return size + _PER_MESSAGE * len(texts) + _PER_REQUEST
