"""What requests cost: amounts, the most that one may cost, and accounts of what was spent.

A budget reserves the upper bound, and retries keep to it. The account of a request is that of its
context: tasks inherit it from the code that starts them. So a request that Graphiti sends counts
for its turn, though Graphiti knows of neither.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TypeVar

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

    Without a price the bound is in tokens. `prompt_tokens` is an upper bound of its prompt, if one
    below `max_prompt_tokens` is known.
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


_SEAM = 64
"""Tokens that the text around the differing part may have more than in the counted prompt: words
that were one token are cut there."""


@dataclass(frozen=True, slots=True)
class _CountedPrompt:
    text: str
    tokens: int


class PromptBounds:
    """Upper bounds of the prompts of one model, by the shortest prompt of each name.

    The instructions are the same in every prompt of a name. Only the text that differs may have a
    token per byte, as `max_prompt_tokens` assumes of the whole prompt.
    """

    def __init__(self) -> None:
        self._counted: dict[str, _CountedPrompt] = {}

    def add(self, request: ChatRequest, tokens: int) -> None:
        """Count a prompt; `tokens` are those that the provider counted."""
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


_MIN_RESPONSE = 2_048
"""Tokens. As long as nothing is learned, no smaller limit is tried: some responses need as many."""
_SAMPLES = 3
"""Responses from which limits are learned."""
_MIN_LEARNED, _MARGIN = 512, 2
"""The minimum of a learned limit in tokens, and its factor over the longest response so far."""
_FEW, _MARGIN_OF_FEW = 10, 4
"""With so few responses, the longest of them says less."""
_MIN_LEAST, _MARGIN_OF_LEAST = 256, 1.25
"""As above, for the smallest limit that is tried when the budget is almost used up."""


class ResponseLimits:
    """The lengths of the responses of one model, by prompt, from which limits are learned."""

    def __init__(self) -> None:
        self._longest: dict[str, int] = {}
        self._counts: dict[str, int] = {}

    def add(self, prompt_name: str, tokens: int) -> None:
        """Count the length of a response; of a truncated one its limit."""
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
        """Return the limits with which a response that `limit` truncated is requested again."""
        full = request.max_tokens
        return tuple(sorted({full, min(4 * limit, full), min(2 * limit, full)}, reverse=True))


T = TypeVar("T")
Approve = Callable[[Amount], None]
"""Called with the expected cost before each request. Raises `RunStopped` if it must not be sent."""


class Account:
    """The requests of one piece of work."""

    def __init__(self, approve: Approve) -> None:
        self._approve = approve
        self.place = 0
        """Place in the queue for the limits of a provider; requests with a lower one go first."""
        self.spent = Amount()
        """All that was paid for so far: also responses that were invalid, and those to requests
        that ran ahead and that no turn needed."""
        self.in_flight = Amount()
        """Expected cost of the requests in flight."""
        self.required = Amount()
        """What had to be left of a budget at the start, so that every request so far fitted."""

    @contextmanager
    def request(self, expected: Amount) -> Iterator[None]:
        """Count a request as in flight, unless `approve` raises."""
        self._approve(expected)
        self.in_flight += expected
        try:
            yield
        finally:
            self.in_flight -= expected

    def charge(self, used: Amount, reserved: Amount) -> None:
        """Count a response: what it used, and what a budget reserves for one if little is left."""
        self.required = self.required.at_least(self.spent + reserved)
        self.spent += used


_current: ContextVar[Account | None] = ContextVar("account", default=None)


def current_account() -> Account:
    """Return the account of this context; a new one if there is none."""
    return _current.get() or Account(lambda _: None)


def charged_to(account: Account) -> AbstractContextManager[None]:
    """Charge the requests of this context, and of tasks started in it, to an account."""
    return set_in_context(_current, account)


@contextmanager
def set_in_context(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set the variable for this context and for tasks started in it."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
