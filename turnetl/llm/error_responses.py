"""Error responses of providers: the exception that names the remedy, and limits that they state."""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from turnetl.base.errors import BadTurn, ModelBusy, ModelUnusable, TooLong, TurnetlError
from turnetl.llm.chat import ChatRequest

_MAX_QUOTED = 200
"""Characters."""
_MIN_SECRET = 8
"""Characters. A shorter key is a placeholder for a server without keys, such as `none`."""


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    status: int
    message: str
    """The provider's own, without the API key; may be empty."""
    code: str
    """The provider's names for the error and for the quota that is exhausted, if any."""
    retry_after: float | None
    """Seconds that the provider asks to wait."""

    @classmethod
    def parse(
        cls, status: int, headers: Mapping[str, str], body: Any, *, secret: str | None
    ) -> "ErrorResponse":
        return cls(
            status=status,
            message=_message(body, secret),
            code=" ".join(name for name in _codes(body) if isinstance(name, str)),
            retry_after=_retry_after(headers, body),
        )

    def __str__(self) -> str:
        if not self.message:
            return str(self.status)
        return f"{self.status}: {self.message[:_MAX_QUOTED]}"


def effective_status(status: int, body: Any) -> int:
    """Return the status of the response: gateways return 200 with the error's status inside."""
    inner = str(nested_value(body, "error", "code"))
    if status == HTTPStatus.OK and _ERROR_STATUS.fullmatch(inner):
        return int(inner)
    return status


def is_error(body: Any) -> bool:
    results = ("choices", "content", "candidates", "data")
    return bool(nested_value(body, "error")) and not any(
        nested_value(body, result) for result in results
    )


def to_exception(failure: ErrorResponse, endpoint: str, *, env_prefix: str) -> TurnetlError:
    """Return the exception for an error response; `endpoint`: model and host, for the message."""
    if remedy := _remedy(failure):
        return ModelUnusable(f"{endpoint}: {remedy.format(env_prefix=env_prefix)} ({failure})")
    if _is_too_long(failure):
        return TooLong(
            f"{endpoint}: the request is too long ({failure})", provider_message=failure.message
        )
    if failure.status in _ABOUT_THE_REQUEST:
        return BadTurn(
            f"{endpoint} rejects this request ({failure})", provider_message=failure.message
        )
    return ModelBusy(f"{endpoint} is busy ({failure})", failure.retry_after)


_NO_CREDIT = "no credit is left; add credit or configure another model"
_NO_KEY = "the API key is missing or wrong; set {env_prefix}__API_KEY"
_NO_MODEL = (
    "no such model or address; check {env_prefix}__MODEL and the base URL (most end with `/v1`)"
)
_REMEDIES: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: _NO_KEY,
    HTTPStatus.PAYMENT_REQUIRED: _NO_CREDIT,
    HTTPStatus.FORBIDDEN: "the API key may not use this model; configure another model or key",
    HTTPStatus.NOT_FOUND: _NO_MODEL,
    HTTPStatus.GONE: _NO_MODEL,
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED: (
        "the proxy requires a user and a password; put them into the proxy's URL"
    ),
}
_NO_ENDPOINT = "no model responds at this address; check the base URL"
_REDIRECTED = "the address has moved; set the base URL to the new one"
_TRANSIENT = (
    HTTPStatus.OK,  # contains an error without a status of its own
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.LOCKED,
    HTTPStatus.FAILED_DEPENDENCY,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
)
_ABOUT_THE_REQUEST = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
"""With every other status, any request would be rejected."""
_ERROR_STATUS = re.compile(r"[45]\d\d")
_DAILY_QUOTA = "the daily quota is exhausted; resume tomorrow or configure another model"
_CREDIT = re.compile(
    r"insufficient_quota|billing_hard_limit|credit balance|limit: 0\b", re.IGNORECASE
)
"""OpenAI and Gemini return 429 also where waiting does not help, Anthropic 400. Gemini mentions
billing also where a minute's wait helps."""
_DAY = re.compile(r"PerDay", re.IGNORECASE)
_KEY = re.compile(r"api[ _]key[ _](not[ _]valid|invalid)", re.IGNORECASE)
"""Gemini returns 400."""
_TOO_LONG = re.compile(
    r"context[ _](length|size|window)|(prompt|input|request) (is )?too (long|large)"
    r"|input token count|too many (input |prompt )?tokens|reduce the length",
    re.IGNORECASE,
)
"""The messages of OpenAI, Anthropic, Gemini, vLLM and llama.cpp; with 429, for a request above the
token limit of a whole minute."""
_AMBIGUOUS = (HTTPStatus.BAD_REQUEST, HTTPStatus.TOO_MANY_REQUESTS)
"""Only the message says what is wrong."""


def _remedy(failure: ErrorResponse) -> str | None:
    if failure.status in _REMEDIES:
        return _REMEDIES[failure.status]
    if HTTPStatus.MULTIPLE_CHOICES <= failure.status < HTTPStatus.BAD_REQUEST:
        return _REDIRECTED
    if failure.status in _AMBIGUOUS:
        text = f"{failure.code} {failure.message}"
        if _CREDIT.search(text):
            return _NO_CREDIT
        if _DAY.search(failure.code):
            return _DAILY_QUOTA
        if _KEY.search(text):
            return _NO_KEY
    return _NO_ENDPOINT if _is_no_endpoint(failure) else None


def _is_no_endpoint(failure: ErrorResponse) -> bool:
    if failure.status == HTTPStatus.OK:
        return "unexpected endpoint" in failure.message.lower()  # LM Studio
    known = (*_TRANSIENT, *_ABOUT_THE_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return failure.status < HTTPStatus.INTERNAL_SERVER_ERROR and failure.status not in known


def _is_too_long(failure: ErrorResponse) -> bool:
    if failure.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return True
    if failure.status not in _AMBIGUOUS:
        return False
    text = f"{failure.code} {failure.message}"
    stated = _stated_number(_OUTPUT_LIMIT, text)
    return _TOO_LONG.search(text) is not None or stated is not None


def _codes(body: Any) -> Iterator[Any]:
    yield from (nested_value(body, "error", name) for name in ("code", "type", "status"))
    for detail in _details(body):
        violations = nested_value(detail, "violations")
        if isinstance(violations, list):
            yield from (nested_value(violation, "quotaId") for violation in violations)


def _details(body: Any) -> list[Any]:
    details = nested_value(body, "error", "details")
    return details if isinstance(details, list) else []


def _message(body: Any, secret: str | None) -> str:
    paths = (("error", "message"), ("error",), ("message",), ("detail",))
    message = next((value for path in paths if (value := nested_value(body, *path))), "")
    if isinstance(message, list):
        message = "; ".join(map(_field_error, message))
    if not isinstance(message, str):
        return ""
    if secret and len(secret) >= _MIN_SECRET:
        message = message.replace(secret, "…")
    return " ".join(message.split())


def _field_error(entry: Any) -> str:
    """Return FastAPI's error about one field of the request body."""
    location = nested_value(entry, "loc")
    path = map(str, location) if isinstance(location, list) else ()
    return f"{'.'.join(path)}: {text_or_empty(nested_value(entry, 'msg'))}"


def _retry_after(headers: Mapping[str, str], body: Any) -> float | None:
    """Return the seconds to wait; None if the response states none."""
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    if (seconds := _number(value)) is not None:
        return seconds
    if (until := _date(value)) is not None:
        return _seconds_until(until, headers.get("date", ""))
    return _retry_delay(body)


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _seconds_until(until: datetime, server_date: str) -> float:
    """Return the seconds from the server's date; without one, from the local time."""
    now = _date(server_date) or datetime.fromtimestamp(time.time(), UTC)
    return max(0.0, (until - now).total_seconds())


def _date(value: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _retry_delay(body: Any) -> float | None:
    """Return Gemini's wait, a detail of the error such as `34.5s`."""
    delays = (nested_value(detail, "retryDelay") for detail in _details(body))
    waits = (_number(delay.removesuffix("s")) for delay in delays if isinstance(delay, str))
    return next(waits, None)


_MIN_RESPONSE = 1_000
"""Tokens. If less remains for the response, the prompt is too long."""
_MARGIN = 1.1
"""Factor on the prompt's tokens: another prompt may have more tokens per character."""
_OVERHEAD = 100
"""Tokens that a server adds to a prompt."""

_OUTPUT_LIMIT = re.compile(
    r"at most (\d+) (?:completion|output) tokens|max_tokens: \d+ > (\d+)"
    r"|from 1 \(inclusive\) to (\d+) \((?:in|ex)clusive\)"
)
"""The limit of any response, as OpenAI, Anthropic and Gemini state it."""
_CONTEXT = re.compile(r"(?:maximum context length is|context window of) (\d+)")
_PROMPT = re.compile(r"(\d+) (?:in the messages|in your prompt|in the prompt|input tokens)")
"""As OpenAI, vLLM and gateways state it."""


class ContextWindow:
    """The limits of a model as its errors state them; none are known at first.

    Many servers reject a request if prompt and maximal response together exceed the context window,
    or if the maximal response exceeds what the model can generate.
    """

    def __init__(self) -> None:
        self._output_limit: int | None = None
        self._context: int | None = None
        self._tokens_per_character = 0.0

    def limited(self, request: ChatRequest) -> ChatRequest:
        """Return the request within the limits; raise TooLong if they leave no room to respond."""
        limit = request.max_tokens
        if self._output_limit is not None:
            limit = min(limit, self._output_limit)
        if self._context is not None:
            prompt = int(request.characters * self._tokens_per_character) + _OVERHEAD
            remaining = self._context - prompt
            if remaining < min(_MIN_RESPONSE, limit):
                raise TooLong(
                    f"a prompt of about {prompt:,} tokens leaves no room for a response in the "
                    f"model's context window of {self._context:,}"
                )
            limit = min(limit, remaining)
        return request if limit == request.max_tokens else replace(request, max_tokens=limit)

    def learn(self, message: str, sent: ChatRequest) -> bool:
        """Learn limits from an error; return whether to retry with a smaller `max_tokens`."""
        if limit := _stated_number(_OUTPUT_LIMIT, message):
            # Some providers state the first number that is too large.
            self._output_limit = min(self._output_limit or limit, limit - 1)
        context, tokens = _stated_number(_CONTEXT, message), _stated_number(_PROMPT, message)
        if context and tokens:
            self._context = context
            per_character = tokens * _MARGIN / max(1, sent.characters)
            self._tokens_per_character = max(self._tokens_per_character, per_character)
        return self.limited(sent).max_tokens < sent.max_tokens


def _stated_number(pattern: re.Pattern[str], message: str) -> int | None:
    match = pattern.search(message.replace(",", ""))
    return next((int(group) for group in match.groups() if group), None) if match else None


_MAX_TOKENS = 1_000_000_000
"""A larger number is not a token count, and no table column could store it."""


def join_path(base_url: str, path: str) -> str:
    """Return the base URL with a path appended; a query string stays at the end."""
    base, mark, query = base_url.partition("?")
    return f"{base.rstrip('/')}{path}{mark}{query}"


def nested_value(value: Any, *path: str | int) -> Any:
    """Return the value under a path of keys and indexes in parsed JSON; None if there is none."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def token_count(body: Any, *path: str) -> int:
    """Return the count under a path of keys in parsed JSON; 0 if there is none."""
    value = nested_value(body, *path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _MAX_TOKENS else 0


def text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""
