"""What a call may use at worst: the bound that a budget sets aside, and that asking again keeps."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from turnetl.llm.chat import ChatRequest
from turnetl.llm.prices import Price
from turnetl.model import Usage

_ASKS = 2
"""How often a request may be asked with the longest answers; with shorter ones, more often."""
_SHORTEST = 2_048
"""Tokens that an answer may have at least: hardly one needs as many."""
_WRONG = 700
"""Tokens that say what was wrong with an answer."""
_A_MESSAGE = 16
"""Tokens around a message."""
_A_CALL = 1_000
"""Tokens that a provider puts in itself, so that an answer has its form."""


@dataclass(frozen=True, slots=True)
class CostBound:
    """What a call may use at worst."""

    tokens: int
    money: float
    """US dollars; 0 if money does not matter."""
    max_tokens: int = 0
    """Tokens that its answer may have."""


def worst_case(request: ChatRequest, price: Price | None) -> CostBound:
    """Return what a request may use at worst: asked again, with the longest answers.

    `retry.Retried` keeps to it: before it asks again, it asks `allows_retry`.
    """
    usage = max_usage(request, _ASKS)
    return CostBound(total_tokens(usage), price.of(usage) if price else 0.0, request.max_tokens)


def allows_retry(request: ChatRequest, spent: Usage, again: ChatRequest) -> bool:
    """Whether `again` may be asked, too, within what was set aside for the request."""
    whole, one = max_usage(request, _ASKS), max_usage(again, 1)
    return (
        spent.prompt_tokens + one.prompt_tokens <= whole.prompt_tokens
        and spent.completion_tokens + one.completion_tokens <= whole.completion_tokens
    )


def max_usage(request: ChatRequest, asks: int) -> Usage:
    """Return what so many answers of the greatest length would use, each shown with the next."""
    prompt, answer = _prompt(request), request.max_tokens
    return Usage(
        prompt_tokens=sum(prompt + ask * (answer + _WRONG) for ask in range(asks)),
        completion_tokens=asks * answer,
    )


def shrinking_bounds(request: ChatRequest, price: Price | None) -> Iterator[CostBound]:
    """Yield what the request may use at worst, then with shorter and shorter answers."""
    most = request.max_tokens
    yield worst_case(request, price)
    while most > _SHORTEST:
        most = max(most // 2, _SHORTEST)
        yield worst_case(replace(request, max_tokens=most), price)


def total_tokens(usage: Usage) -> int:
    """Return the tokens of prompts and answers."""
    return usage.prompt_tokens + usage.completion_tokens


def _prompt(request: ChatRequest) -> int:
    """Return a bound on the tokens of a prompt: none is shorter than a byte.

    Prose has four bytes a token, but lists of digits and random letters have hardly more than one.
    A schema is sent as the answer's form, and to some servers in words too.
    """
    texts = [said.text for said in request.messages]
    form = request.schema.written if request.schema is not None else ""
    size = sum(len(text.encode("utf-8", "replace")) for text in (*texts, form, form))
    return size + _A_MESSAGE * len(texts) + _A_CALL
