"""What a provider says instead of an answer, and the error that names the remedy."""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from turnetl.errors import BadTurn, ModelBusy, ModelRefused, TooLong, TurnetlError
from turnetl.llm.transport.context_window import states_output_limit
from turnetl.llm.transport.payload import nested, text_or_empty

_MOST_SHOWN = 200
"""Characters."""
_LEAST_SECRET = 8
"""Characters. What is shorter is no secret, but what servers without keys are told: `none`."""


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """A response that is no answer."""

    status: int
    words: str
    """The provider's own, without the key; may be empty."""
    code: str
    """Its names for the failure and for what is used up, if it has any."""
    wait: float | None
    """Seconds that it asks for."""

    @classmethod
    def of(
        cls, status: int, headers: Mapping[str, str], parsed: Any, *, secret: str | None
    ) -> "ErrorResponse":
        return cls(
            status=status,
            words=_words(parsed, secret),
            code=" ".join(name for name in _names(parsed) if isinstance(name, str)),
            wait=_wait(headers, parsed),
        )

    def __str__(self) -> str:
        return f"{self.status}: {self.words[:_MOST_SHOWN]}" if self.words else str(self.status)


def status(given: int, parsed: Any) -> int:
    """Return what the response means: gateways say 200 and put the failure inside."""
    inside = str(nested(parsed, "error", "code"))
    if given == HTTPStatus.OK and _A_FAILURE.fullmatch(inside):
        return int(inside)
    return given


def is_one(parsed: Any) -> bool:
    """Whether it is a failure, and nothing else, whatever its status."""
    answers = ("choices", "content", "candidates", "data")
    return bool(nested(parsed, "error")) and not any(nested(parsed, answer) for answer in answers)


def error(said: ErrorResponse, where: str, *, settings: str) -> TurnetlError:
    """Return the error for it.

    Args:
        said: instead of an answer.
        where: was asked: model and host.
        settings: the beginning of the environment's names for it.
    """
    if remedy := _remedy(said):
        return ModelRefused(f"{where}: {remedy.format(settings=settings)} ({said})")
    if _is_too_long(said):
        return TooLong(f"{where}: the request is too long ({said})", provider_message=said.words)
    if said.status in _OF_THE_QUESTION:
        return BadTurn(f"{where} does not take this request ({said})", provider_message=said.words)
    return ModelBusy(f"{where} is busy ({said})", said.wait)


_NO_CREDIT = "there is no credit left; top up or name another model"
_NO_KEY = "the API key is missing or wrong; set {settings}__API_KEY"
_NO_MODEL = (
    "no such model or address; check {settings}__MODEL and the base URL (most end with `/v1`)"
)
_STOP: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: _NO_KEY,
    HTTPStatus.PAYMENT_REQUIRED: _NO_CREDIT,
    HTTPStatus.FORBIDDEN: "the API key may not use this model; name another model or key",
    HTTPStatus.NOT_FOUND: _NO_MODEL,
    HTTPStatus.GONE: _NO_MODEL,
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED: (
        "the proxy wants a user and a password; put them into the proxy's URL"
    ),
}
_NO_PLACE = "no model answers at this address; check the base URL"
_MOVED = "the address has moved; set the base URL to where it is now"
_BUSY = (
    HTTPStatus.OK,  # with a failure in it that gives no number
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.LOCKED,
    HTTPStatus.FAILED_DEPENDENCY,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
)
_OF_THE_QUESTION = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
"""Whatever else is refused is refused to every request."""
_A_FAILURE = re.compile(r"[45]\d\d")
_TOMORROW = "the quota of a day is used up; go on tomorrow, or name another model"
_CREDIT = re.compile(
    r"insufficient_quota|billing_hard_limit|credit balance|limit: 0\b", re.IGNORECASE
)
"""OpenAI and Gemini say 429 also where no patience helps, Anthropic 400. Gemini speaks of billing
also where a minute helps."""
_DAY = re.compile(r"PerDay", re.IGNORECASE)
_KEY = re.compile(r"api[ _]key[ _](not[ _]valid|invalid)", re.IGNORECASE)
"""Gemini says 400."""
_TOO_LONG = re.compile(
    r"context[ _](length|size|window)|(prompt|input|request) (is )?too (long|large)"
    r"|input token count|too many (input |prompt )?tokens|reduce the length",
    re.IGNORECASE,
)
"""How OpenAI, Anthropic, Gemini, vLLM and llama.cpp say it; with 429, where a request is beyond a
whole minute's tokens."""
_MAY_BE_TOO_LONG = (HTTPStatus.BAD_REQUEST, HTTPStatus.TOO_MANY_REQUESTS)
_REFUSING = (HTTPStatus.BAD_REQUEST, HTTPStatus.TOO_MANY_REQUESTS)


def _remedy(said: ErrorResponse) -> str | None:
    """Return what a person must do, if one must."""
    if said.status in _STOP:
        return _STOP[said.status]
    if HTTPStatus.MULTIPLE_CHOICES <= said.status < HTTPStatus.BAD_REQUEST:
        return _MOVED
    told = f"{said.code} {said.words}"
    if said.status in _REFUSING and _CREDIT.search(told):
        return _NO_CREDIT
    if said.status in _REFUSING and _DAY.search(said.code):
        return _TOMORROW
    if said.status in _REFUSING and _KEY.search(told):
        return _NO_KEY
    return _NO_PLACE if _is_no_place(said) else None


def _is_no_place(said: ErrorResponse) -> bool:
    if said.status == HTTPStatus.OK:
        return "unexpected endpoint" in said.words.lower()  # LM Studio
    known = (*_BUSY, *_OF_THE_QUESTION, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return said.status < HTTPStatus.INTERNAL_SERVER_ERROR and said.status not in known


def _is_too_long(said: ErrorResponse) -> bool:
    if said.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return True
    if said.status not in _MAY_BE_TOO_LONG:
        return False
    told = f"{said.code} {said.words}"
    return _TOO_LONG.search(told) is not None or states_output_limit(told)


def _names(parsed: Any) -> Iterator[Any]:
    yield from (nested(parsed, "error", name) for name in ("code", "type", "status"))
    for detail in _details(parsed):
        violations = nested(detail, "violations")
        if isinstance(violations, list):
            yield from (nested(violation, "quotaId") for violation in violations)


def _details(parsed: Any) -> list[Any]:
    """Return the details as Google's services give them."""
    details = nested(parsed, "error", "details")
    return details if isinstance(details, list) else []


def _words(parsed: Any, secret: str | None) -> str:
    places = (("error", "message"), ("error",), ("message",), ("detail",))
    words = next((found for place in places if (found := nested(parsed, *place))), "")
    if isinstance(words, list):
        words = "; ".join(map(_complaint, words))
    if not isinstance(words, str):
        return ""
    if secret and len(secret) >= _LEAST_SECRET:
        words = words.replace(secret, "…")
    return " ".join(words.split())


def _complaint(entry: Any) -> str:
    """Return what FastAPI's servers say of one field of what they were sent."""
    place = nested(entry, "loc")
    steps = map(str, place) if isinstance(place, list) else ()
    return f"{'.'.join(steps)}: {text_or_empty(nested(entry, 'msg'))}"


def _wait(headers: Mapping[str, str], parsed: Any) -> float | None:
    """Return the seconds to wait; None if none are given."""
    if (thousandths := _number(headers.get("retry-after-ms", ""))) is not None:
        return thousandths / 1000
    given = headers.get("retry-after", "")
    if (seconds := _number(given)) is not None:
        return seconds
    if (until := _date(given)) is not None:
        return _between(headers.get("date", ""), until)
    return _inside(parsed)


def _number(given: str) -> float | None:
    try:
        found = float(given)
    except ValueError:
        return None
    return found if 0 <= found < float("inf") else None


def _between(said_at: str, until: datetime) -> float:
    """Return the seconds between two moments, the first by our clock where it is not given."""
    now = _date(said_at) or datetime.fromtimestamp(time.time(), UTC)
    return max(0.0, (until - now).total_seconds())


def _date(given: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(given)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _inside(parsed: Any) -> float | None:
    """Gemini gives the wait as a detail of the error, as `34.5s`."""
    delays = (nested(detail, "retryDelay") for detail in _details(parsed))
    waits = (_number(delay.removesuffix("s")) for delay in delays if isinstance(delay, str))
    return next(waits, None)
