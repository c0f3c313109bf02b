"""Retries by kind of failure: a busy model after a wait, an invalid response with the error.

A response that leaves this module is plain JSON that matches its schema.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from turnetl.base.errors import BadTurn, ModelBusy, TooLong
from turnetl.base.model import Usage
from turnetl.llm import validate
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, ChatResponse
from turnetl.llm.cost_bounds import allows_retry
from turnetl.llm.prompt_delimiters import escape_text

log = logging.getLogger(__name__)

MAX_QUOTED = 4_000
"""Characters of an invalid response that are sent back to the model."""

_LONG_PAUSE = 10.0
"""Seconds. A pause of this length or longer is logged as a warning."""

Sleep = Callable[[float], Awaitable[object]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long to retry. Times are in seconds."""

    attempts: int = 7
    """With the default waits, a provider may be unavailable for a minute."""
    max_timeouts: int = 3
    """Attempts that may end in a timeout, two minutes each by default."""
    first_wait: float = 1.0
    """Doubled after each attempt. Jitter shortens a wait by up to half."""
    max_wait: float = 60.0
    """If a provider asks for a longer wait, the run ends; it may resume later."""
    max_responses: int = 5
    """Responses to one request until one of them is valid."""


async def with_retries(
    call: Callable[[], Awaitable[T]],
    retry_policy: RetryPolicy,
    *,
    sleep: Sleep = asyncio.sleep,
    random_fraction: Callable[[], float] = random.random,
) -> T:
    """Return the result of a call, repeated while it raises `ModelBusy`.

    Args:
        call: one attempt.
        retry_policy: number of attempts and waits between them.
        sleep: waits for a number of seconds.
        random_fraction: returns 0 to 1, for jitter: calls that failed together must not retry
            together.

    Raises:
        ModelBusy: after all retries. Every other exception of the call passes through.
    """
    wait, failures, timeouts = retry_policy.first_wait, 0, 0
    while True:
        try:
            return await call()
        except ModelBusy as busy:
            failures, timeouts = failures + 1, timeouts + busy.timed_out
            if failures == retry_policy.attempts or timeouts == retry_policy.max_timeouts:
                raise _gave_up(busy, f"{failures} attempts failed") from busy
            if (requested := busy.retry_after or 0.0) > retry_policy.max_wait:
                raise _gave_up(busy, f"it asks for a wait of {requested:,.0f} s") from busy
            if busy.retry_after is None:
                pause = wait * (0.5 + random_fraction() / 2)
            else:
                # Never less than the provider asks for.
                pause = busy.retry_after + random_fraction() * retry_policy.first_wait
            # The message omits the seconds: equal messages of concurrent calls are shown once.
            level = logging.WARNING if pause >= _LONG_PAUSE else logging.INFO
            log.log(level, "%s; retrying after a pause", busy, extra={"pause": pause})
        await sleep(pause)
        wait = min(wait * 2, retry_policy.max_wait)


class RetryingModel:
    """A model that repeats a request where that may help."""

    def __init__(
        self,
        model: ChatModel,
        retry_policy: RetryPolicy,
        *,
        sleep: Sleep = asyncio.sleep,
        random_fraction: Callable[[], float] = random.random,
    ) -> None:
        """Wrap a model that makes one attempt per request.

        Args:
            model: receives the requests.
            retry_policy: number of attempts and waits between them.
            sleep: waits for a number of seconds.
            random_fraction: returns 0 to 1, for jitter: calls that failed together must not retry
                together.
        """
        self._model = model
        self._retry_policy = retry_policy
        self._sleep = sleep
        self._random_fraction = random_fraction

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Repeat the request until a response is valid; each repetition quotes the last error.

        All responses together use at most the tokens of two responses of maximal length. Long
        invalid responses are therefore retried once, short ones more often.

        Raises:
            ModelUnusable, ModelBusy: as the model, the latter after all retries.
            TooLong: request or response exceeds a limit; a retry would fail the same way.
            BadTurn: no response is valid. Its usage is the cost of all of them, as TooLong's.
        """
        spent, current = Usage(), request
        for attempt in range(1, self._retry_policy.max_responses + 1):
            response = await self._attempt(current, spent)
            spent = response.usage
            try:
                return self._validated(request, response)
            except ValueError as error:
                repeated = _with_error(request, response, error)
                is_last = attempt == self._retry_policy.max_responses
                if is_last or not allows_retry(request, spent, repeated):
                    raise self._invalid(request, error, spent) from error
                log.info("retrying an invalid response", extra={"prompt": request.prompt_name})
                current = repeated
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def close(self) -> None:
        await self._model.close()

    async def _attempt(self, request: ChatRequest, spent: Usage) -> ChatResponse:
        """Return a response whose usage includes that of the responses before it."""
        try:
            response = await with_retries(
                lambda: self._model.complete(request),
                self._retry_policy,
                sleep=self._sleep,
                random_fraction=self._random_fraction,
            )
            return response.with_usage(response.usage + spent)
        except BadTurn as error:
            error.usage += spent
            raise

    def _validated(self, request: ChatRequest, response: ChatResponse) -> ChatResponse:
        """Return the response as plain JSON.

        Raises:
            TooLong: it is truncated.
            ValueError: it does not match its schema; says why.
        """
        if response.truncated:
            raise TooLong(
                f"model `{self.name}`: the response to `{request.prompt_name}` was truncated after "
                f"{response.completion_tokens:,} tokens",
                response.usage,
            )
        if response.refused:
            raise ValueError("a refusal instead of a response")
        text = validate.strip_wrapping(response.text)
        validate.check_response(text, request.schema)
        return replace(response, text=text)

    def _invalid(self, request: ChatRequest, error: ValueError, spent: Usage) -> BadTurn:
        several = spent.calls != 1
        responses = f"{spent.calls} invalid responses" if several else "an invalid response"
        reason = validate.describe(error)
        return BadTurn(
            f"model `{self.name}` returned {responses} to `{request.prompt_name}`: {reason}",
            spent,
            problem=f"returned {responses}: {reason}",
        )


def _gave_up(busy: ModelBusy, reason: str) -> ModelBusy:
    return ModelBusy(f"{busy}; {reason}: run the same command again later", busy.retry_after)


def _with_error(request: ChatRequest, response: ChatResponse, error: ValueError) -> ChatRequest:
    """Return the request followed by the start of the invalid response and the error."""
    correction = (
        f"The response is invalid: {escape_text(validate.describe(error))}. Respond again with "
        "only the JSON object."
    )
    # Providers reject an empty message.
    quoted = escape_text(response.text[:MAX_QUOTED].strip()) or "(empty response)"
    messages = (ChatMessage("assistant", quoted), ChatMessage("user", correction))
    return replace(request, messages=(*request.messages, *messages))
