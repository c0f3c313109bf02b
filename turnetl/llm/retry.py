"""Retries by kind of failure, and the check of responses before they are returned.

A response that leaves this module is plain JSON that matches its schema, of a plausible size.
"""

import asyncio
import json
import logging
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import ValidationError

from turnetl.base.errors import BadTurn, ModelBusy, TooLong
from turnetl.base.model import Usage
from turnetl.llm.chat import (
    ChatMessage,
    ChatModel,
    ChatRequest,
    ChatResponse,
    ModelWrapper,
    ResponseSchema,
)
from turnetl.llm.costs import allows_retry
from turnetl.llm.loops import distinct_entries, repeats_itself
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
    """Return the result of a call, repeated while it raises `ModelBusy`; finally raise that.

    `random_fraction` returns 0 to 1, for jitter: calls that failed together must not retry
    together.
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


class RetryingModel(ModelWrapper):
    """A model that repeats a request where that may help; arguments as of `with_retries`."""

    def __init__(
        self,
        model: ChatModel,
        retry_policy: RetryPolicy,
        *,
        sleep: Sleep = asyncio.sleep,
        random_fraction: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(model)
        self._retry_policy = retry_policy
        self._sleep = sleep
        self._random_fraction = random_fraction

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Repeat the request until a response is valid; each repetition quotes the last error.

        All responses together use at most the tokens of two responses of maximal length. Long
        invalid responses are therefore retried once, short ones more often.

        Raises:
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
        """Return the response as plain JSON; ValueError says why it does not match its schema."""
        text = response.text
        if response.truncated:
            kept = distinct_entries(text) if repeats_itself(text) else None
            if kept is None:
                raise TooLong(
                    f"model `{self.name}`: the response to `{request.prompt_name}` was truncated "
                    f"after {response.completion_tokens:,} tokens",
                    response.usage,
                )
            log.warning(
                "model `%s` repeats itself in responses to `%s`: they end there; a larger model "
                "repeats itself less",
                self.name,
                request.prompt_name,
            )
            text = kept
        if response.refused:
            raise ValueError("a refusal instead of a response")
        text = strip_wrapping(text)
        check_response(text, request.schema)
        return replace(response, text=text, truncated=False)

    def _invalid(self, request: ChatRequest, error: ValueError, spent: Usage) -> BadTurn:
        several = spent.calls != 1
        responses = f"{spent.calls} invalid responses" if several else "an invalid response"
        reason = describe_invalid(error)
        return BadTurn(
            f"model `{self.name}` returned {responses} to `{request.prompt_name}`: {reason}",
            spent,
            problem=f"returned {responses}: {reason}",
        )


def _gave_up(busy: ModelBusy, reason: str) -> ModelBusy:
    more_time = ", with more time by `llm.timeout_seconds`" if busy.timed_out else ""
    message = f"{busy}; {reason}: run the same command again later{more_time}"
    return ModelBusy(message, busy.retry_after, timed_out=busy.timed_out)


def _with_error(request: ChatRequest, response: ChatResponse, error: ValueError) -> ChatRequest:
    """Return the request followed by the start of the invalid response and the error."""
    correction = (
        f"The response is invalid: {escape_text(describe_invalid(error))}. Respond again with "
        "only the JSON object."
    )
    # Providers reject an empty message.
    quoted = escape_text(response.text[:MAX_QUOTED].strip()) or "(empty response)"
    messages = (ChatMessage("assistant", quoted), ChatMessage("user", correction))
    return replace(request, messages=(*request.messages, *messages))


_FENCE = "```"
_LANGUAGE = re.compile(r"\w*")
"""The language after the opening fence."""
_OBJECT_IN_PROSE = re.compile(r"\A[^{\[]*(\{.*\})[^}\]]*\Z", re.DOTALL)
_MAX_ENTRIES = 500
"""Maximum entries of a list. No turn mentions more entities; only an endless loop writes more."""
_MAX_NAME = 1_000
"""Characters of a name."""
_MAX_DEPTH = 50
"""Nested lists and objects."""
_TOO_DEEP = "it is nested too deeply"
_MAX_DESCRIPTION = 600


def strip_wrapping(text: str) -> str:
    """Return the text inside a Markdown fence, or the JSON object inside surrounding prose."""
    stripped = text.strip()
    if stripped.startswith(_FENCE) and stripped.endswith(_FENCE):
        return _LANGUAGE.sub("", stripped.strip("`"), count=1).strip()
    match = _OBJECT_IN_PROSE.match(stripped)
    return match[1] if match else stripped


def parse_object(text: str) -> dict[str, Any]:
    """Return the parsed JSON object; ValueError says why the text is none."""
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from error
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    if not isinstance(parsed, dict):
        raise ValueError(f"expected a JSON object, got {type(parsed).__name__}")  # noqa: TRY004 - as JSON's
    return parsed


def check_response(text: str, schema: ResponseSchema | None) -> None:
    """Check that the text is a JSON object that matches its schema; else raise ValueError."""
    parsed = parse_object(text)
    _check_size(parsed)
    if schema is not None and schema.response_model is not None:
        schema.response_model.model_validate(parsed)


def describe_invalid(error: ValueError) -> str:
    """Return the reason without quoting the response: its content is not trusted."""
    if not isinstance(error, ValidationError):
        return str(error)[:_MAX_DESCRIPTION]
    details = error.errors(include_input=False, include_url=False)
    lines = (f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details)
    return "; ".join(lines)[:_MAX_DESCRIPTION]


def _check_size(value: Any, key: str = "", depth: int = 0) -> None:
    if depth > _MAX_DEPTH:
        raise ValueError(_TOO_DEEP)
    if isinstance(value, dict):
        for name, child in value.items():
            _check_size(child, name, depth + 1)
    elif isinstance(value, list):
        if len(value) > _MAX_ENTRIES:
            limit = f"at most {_MAX_ENTRIES}"
            raise ValueError(f"`{key}` has {len(value):,} entries; give {limit}")
        for entry in value:
            _check_size(entry, key, depth + 1)
    elif isinstance(value, str) and key.endswith("name") and len(value) > _MAX_NAME:
        raise ValueError(f"a `{key}` has {len(value):,} characters; give at most {_MAX_NAME:,}")


_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\u200b\u200c\u200d\ufeff\u2060\ud800-\udfff]")
"""Graphiti's clients remove the same characters from every prompt."""
_MAX_RELATION = 100
"""Characters."""
_MAX_FACT = 2000
"""Characters. A longer text is not one sentence."""
_DEFAULT_RELATION = "RELATES_TO"
"""Graphiti's own."""


def sanitized(value: Any, key: str = "") -> Any:
    """Return parsed JSON with every text as a graph can store it; `key` names the field of `value`.

    A schema cannot express these rules, and one such value must not cost a turn.
    """
    if isinstance(value, dict):
        return {name: sanitized(child, name) for name, child in value.items()}
    if isinstance(value, list):
        return [sanitized(child, key) for child in value]
    if isinstance(value, str):
        return _BY_KEY.get(key, strip_invisible)(value)
    return value


def strip_invisible(text: str) -> str:
    """Return the text without invisible characters, some of which databases reject."""
    return _INVISIBLE.sub("", text)


def _single_line(text: str) -> str:
    return " ".join(strip_invisible(text).split())


def _relation(text: str) -> str:
    return _single_line(text)[:_MAX_RELATION].strip() or _DEFAULT_RELATION


def _fact(text: str) -> str:
    return _single_line(text)[:_MAX_FACT]


def _timestamp(text: str) -> str | None:
    """Return the time if it is valid, in UTC too: the first day of the year 1 in Tokyo is not."""
    try:
        time = datetime.fromisoformat(text)
        (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return text


_BY_KEY: dict[str, Callable[[str], str | None]] = {
    "name": _single_line,
    "source_entity_name": _single_line,
    "target_entity_name": _single_line,
    "relation_type": _relation,
    "fact": _fact,
    "valid_at": _timestamp,
    "invalid_at": _timestamp,
}
