"""A model behind HTTP: calls at once, patience, when to ask again, when to stop."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, NoReturn

import httpx

from turnetl.errors import BadTurn, ModelBusy, ModelRefused
from turnetl.llm.chat import Answer, Question, Wire, dig

log = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Patience:
    """How a model is waited for. Seconds."""

    answer: float = 120.0
    connect: float = 10.0
    attempts: int = 4
    first_wait: float = 1.0
    """Doubled after each attempt."""
    longest_wait: float = 60.0
    """If a provider asks for more, the turn is left for later."""


class HttpModel:
    """Asks one provider's model. One for the whole process, whatever runs side by side."""

    def __init__(
        self,
        wire: Wire,
        api_key: str | None,
        *,
        at_once: int,
        patience: Patience,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._wire = wire
        self._api_key = api_key
        self._patience = patience
        self._sleep = sleep
        self._free = asyncio.Semaphore(at_once)
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(patience.answer, connect=patience.connect),
            limits=httpx.Limits(max_connections=at_once),
        )

    @property
    def name(self) -> str:
        return f"{self._wire.provider}/{self._wire.model}"

    async def answer(self, question: Question) -> Answer:
        body = json.dumps(self._wire.body(question), ensure_ascii=False).encode("utf-8", "replace")
        wait = self._patience.first_wait
        for attempt in range(1, self._patience.attempts + 1):
            try:
                return self._read(await self._post(body))
            except ModelBusy as busy:
                pause = wait if busy.retry_after is None else busy.retry_after
                if attempt == self._patience.attempts or pause > self._patience.longest_wait:
                    raise
                log.info("model busy", extra={"prompt": question.prompt, "pause": pause})
                await self._sleep(pause)
                wait *= 2
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def close(self) -> None:
        await self._client.aclose()

    async def _post(self, body: bytes) -> httpx.Response:
        headers = {"Content-Type": "application/json"} | self._wire.headers(self._api_key)
        try:
            async with self._free:
                return await self._client.post(self._wire.url(), content=body, headers=headers)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ModelRefused(f"{self._where()}: {error}; set the base URL") from error
        except httpx.HTTPError as error:
            what = str(error) or type(error).__name__
            raise ModelBusy(f"{self._where()} did not answer: {what}") from error

    def _read(self, response: httpx.Response) -> Answer:
        parsed = _parsed(response)
        if response.status_code != HTTPStatus.OK:
            self._refuse(response, parsed)
        if not isinstance(parsed, dict):
            raise ModelRefused(
                f"{self._where()} answered something that is not JSON; check the base URL"
            )
        return self._wire.answer(parsed)

    def _refuse(self, response: httpx.Response, parsed: Any) -> NoReturn:
        """Turn a failure into the error that names its remedy."""
        status = response.status_code
        said = self._said(parsed)
        if status in _STOP or _is_quota(parsed):
            raise ModelRefused(f"{self._where()}: {_STOP.get(status, _NO_CREDIT)} ({status}{said})")
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
        return f"model `{self.name}` at {httpx.URL(self._wire.url()).host}"


_NO_CREDIT = "there is no credit left; top up or name another model"
_STOP: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "the API key is missing or wrong; set TURNETL_LLM__API_KEY",
    HTTPStatus.PAYMENT_REQUIRED: _NO_CREDIT,
    HTTPStatus.FORBIDDEN: "the API key may not use this model; name another model or key",
    HTTPStatus.NOT_FOUND: "no such model or address; check TURNETL_LLM__MODEL and the base URL",
    HTTPStatus.METHOD_NOT_ALLOWED: "no model answers at this address; check the base URL",
}
_BUSY = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS)


def _parsed(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _is_quota(parsed: Any) -> bool:
    """OpenAI says 429 also where no patience helps."""
    return "insufficient_quota" in (dig(parsed, "error", "code"), dig(parsed, "error", "type"))


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds to wait; None if none are given, or a date."""
    try:
        return max(0.0, float(response.headers["retry-after"]))
    except (KeyError, ValueError):
        return None
