"""A model behind HTTP: one attempt a call. What went wrong becomes the error that names its remedy.

Whoever asks again, waits, counts or keeps stands around it; see `turnetl.llm.stack`.
"""

import asyncio
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, NoReturn

import httpx

from turnetl.errors import BadTurn, ModelBusy, ModelRefused, TooLong
from turnetl.llm.chat import Answer, Question, Wire, dig

_MOST_BYTES = 32 << 20
"""No answer is longer; what is, never ends."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a call may take. Seconds."""

    answer: float = 120.0
    """From the first byte sent to the last one read."""
    connect: float = 10.0


class HttpModel:
    """Asks one provider's model, once a call."""

    def __init__(self, wire: Wire, api_key: str | None, *, timeouts: Timeouts) -> None:
        self._wire = wire
        self._endpoint = Endpoint(
            f"model `{self.name}`",
            wire.url(),
            headers=wire.headers(api_key),
            api_key=api_key,
            settings="TURNETL_LLM",
            timeouts=timeouts,
        )

    @property
    def name(self) -> str:
        return f"{self._wire.provider}/{self._wire.model}"

    async def answer(self, question: Question) -> Answer:
        began = time.perf_counter()
        answered = await self._endpoint.ask(self._wire.body(question))
        return replace(self._wire.answer(answered), seconds=time.perf_counter() - began)

    async def close(self) -> None:
        await self._endpoint.close()


class Endpoint:
    """One address of a provider: JSON there and back, in one attempt."""

    def __init__(
        self,
        what: str,
        url: str,
        *,
        headers: Mapping[str, str],
        api_key: str | None,
        settings: str,
        timeouts: Timeouts,
    ) -> None:
        """Make an endpoint; opens no connection yet.

        Args:
            what: is asked there, for messages: "model `m`".
            url: whole.
            headers: of every request.
            api_key: is kept out of messages.
            settings: the beginning of the environment's names for it.
            timeouts: how long a call may take.
        """
        self._what = what
        self._url = url
        self._api_key = api_key
        self._settings = settings
        self._timeouts = timeouts
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(timeouts.answer, connect=timeouts.connect),
            # How many calls are in flight is the limiter's business.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
            headers={"Content-Type": "application/json", **headers},
        )

    async def ask(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is answered.

        Raises:
            ModelRefused, ModelBusy, TooLong, BadTurn: as a model does.
        """
        sent = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return self._read(await self._post(sent))

    async def close(self) -> None:
        await self._client.aclose()

    async def _post(self, body: bytes) -> "_Response":
        try:
            async with (
                asyncio.timeout(self._timeouts.answer),
                self._client.stream("POST", self._url, content=body) as response,
            ):
                return _Response(
                    response.status_code, response.headers, await self._whole(response)
                )
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ModelRefused(f"{self._where()}: {error}; set the base URL") from error
        except TimeoutError as error:
            waited = f"{self._timeouts.answer:g} s"
            raise ModelBusy(f"{self._where()} did not answer within {waited}") from error
        except httpx.HTTPError as error:
            what = str(error) or type(error).__name__
            raise ModelBusy(f"{self._where()} did not answer: {what}") from error

    async def _whole(self, response: httpx.Response) -> bytes:
        read = bytearray()
        async for some in response.aiter_bytes():
            read += some
            if len(read) > _MOST_BYTES:
                raise BadTurn(f"{self._where()} does not stop answering ({len(read):,} bytes)")
        return bytes(read)

    def _read(self, response: "_Response") -> dict[str, Any]:
        parsed = _parsed(response.body)
        if response.status != HTTPStatus.OK:
            self._refuse(response, parsed)
        if not isinstance(parsed, dict):
            raise ModelRefused(
                f"{self._where()} answered something that is not JSON; check the base URL"
            )
        return parsed

    def _refuse(self, response: "_Response", parsed: Any) -> NoReturn:
        """Turn a failure into the error that names its remedy."""
        status = response.status
        said = self._said(parsed)
        if status in _STOP or _is_quota(parsed):
            remedy = _STOP.get(status, _NO_CREDIT).format(settings=self._settings)
            raise ModelRefused(f"{self._where()}: {remedy} ({status}{said})")
        if _is_too_long(status, said, parsed):
            raise TooLong(f"{self._where()}: the question is too long ({status}{said})")
        if status in _BUSY or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise ModelBusy(f"{self._where()} is busy ({status}{said})", _retry_after(response))
        raise BadTurn(f"{self._where()} does not take this question ({status}{said})")

    def _said(self, parsed: Any) -> str:
        """Return the provider's own words, shortened, never with the key in them."""
        words = dig(parsed, "error", "message") or dig(parsed, "error") or dig(parsed, "message")
        if not isinstance(words, str):
            return ""
        if self._api_key:
            words = words.replace(self._api_key, "…")
        return ": " + " ".join(words.split())[:200]

    def _where(self) -> str:
        return f"{self._what} at {httpx.URL(self._url).host}"


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    headers: httpx.Headers
    body: bytes


_NO_CREDIT = "there is no credit left; top up or name another model"
_STOP: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "the API key is missing or wrong; set {settings}__API_KEY",
    HTTPStatus.PAYMENT_REQUIRED: _NO_CREDIT,
    HTTPStatus.FORBIDDEN: "the API key may not use this model; name another model or key",
    HTTPStatus.NOT_FOUND: "no such model or address; check {settings}__MODEL and the base URL",
    HTTPStatus.METHOD_NOT_ALLOWED: "no model answers at this address; check the base URL",
}
_BUSY = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
)
_TOO_LONG = re.compile(
    r"context[ _](length|size|window)|(prompt|input|request) (is )?too (long|large)"
    r"|input token count|too many (input |prompt )?tokens|reduce the length",
    re.IGNORECASE,
)
"""How OpenAI, Anthropic, Gemini, vLLM and llama.cpp say it."""
_MAY_BE_TOO_LONG = (HTTPStatus.BAD_REQUEST, HTTPStatus.TOO_MANY_REQUESTS)
"""A question beyond a whole minute's tokens is answered 429, and no patience helps."""


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _is_quota(parsed: Any) -> bool:
    """OpenAI says 429 also where no patience helps."""
    return "insufficient_quota" in (dig(parsed, "error", "code"), dig(parsed, "error", "type"))


def _is_too_long(status: int, said: str, parsed: Any) -> bool:
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return True
    code = dig(parsed, "error", "code")
    return status in _MAY_BE_TOO_LONG and bool(_TOO_LONG.search(f"{said} {code}"))


def _retry_after(response: _Response) -> float | None:
    """Return the seconds to wait, given as such or as a date; None if there are none."""
    given = response.headers.get("retry-after", "")
    try:
        return max(0.0, float(given))
    except ValueError:
        return _until(given, response.headers.get("date", ""))


def _until(given: str, said_at: str) -> float | None:
    """Return the seconds between two HTTP dates; by our own clock where the answer has no date."""
    until = _date(given)
    if until is None:
        return None
    now = _date(said_at) or datetime.fromtimestamp(time.time(), UTC)
    return max(0.0, (until - now).total_seconds())


def _date(given: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(given)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
