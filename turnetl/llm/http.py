"""A model behind HTTP: one attempt a call. What went wrong becomes the error that names its remedy.

Whoever asks again, waits, counts or keeps stands around it; see `turnetl.llm.stack`.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

import httpx

from turnetl.errors import BadTurn, BadUsage, ModelBusy, ModelRefused, TooLong
from turnetl.llm import failures
from turnetl.llm.chat import Answer, Question, Wire
from turnetl.llm.connections import Connections, Timeouts
from turnetl.llm.room import Room

__all__ = ["Endpoint", "HttpModel", "Timeouts"]

_MOST_BYTES = 32 << 20
"""No answer is longer; what is, never ends."""


class HttpModel:
    """Asks one provider's model, once a call."""

    def __init__(self, wire: Wire, api_key: str | None, *, timeouts: Timeouts) -> None:
        self._wire = wire
        self._room = Room()
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
        """Ask once.

        Raises:
            ModelBusy: also where it has too little room for so long an answer; asked at once
                again, it is asked for a shorter one.
            ModelRefused, TooLong, BadTurn: as a model does.
        """
        began, asked = time.perf_counter(), self._room.fitted(question)
        try:
            answered = await self._endpoint.ask(self._wire.body(asked))
        except TooLong as error:
            if self._room.learn(error.words, asked):
                raise ModelBusy(str(error), retry_after=0) from error
            raise
        return replace(self._wire.answer(answered), seconds=time.perf_counter() - began)

    def body(self, question: Question) -> Mapping[str, Any]:
        """Return what would be sent now."""
        return self._wire.body(self._room.fitted(question))

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

        Raises:
            BadUsage: the key holds what no header may.
        """
        if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
            raise BadUsage(
                f"{settings}__API_KEY holds a line break or another sign that no key has; set it "
                "again"
            )
        self._what = what
        self._url = url
        self._api_key = api_key
        self._settings = settings
        self._timeouts = timeouts
        self._connections = Connections(headers, timeouts)

    async def ask(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is answered.

        Raises:
            ModelRefused, ModelBusy, TooLong, BadTurn: as a model does.
        """
        sent = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return self._read(await self._post(sent))

    async def close(self) -> None:
        await self._connections.close()

    async def _post(self, body: bytes) -> "_Response":
        try:
            async with (
                asyncio.timeout(self._timeouts.answer),
                self._connections.post(self._url, body) as response,
            ):
                return _Response(
                    response.status_code, response.headers, await self._whole(response)
                )
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ModelRefused(f"{self._where()}: {error}; set the base URL") from error
        except TimeoutError as error:
            waited = f"{self._timeouts.answer:g} s"
            raise ModelBusy(f"{self._where()} did not answer within {waited}", hung=True) from error
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
        status = failures.status(response.status, parsed)
        if status != HTTPStatus.OK:
            said = failures.Said.of(status, response.headers, parsed, secret=self._api_key)
            raise failures.error(said, self._where(), settings=self._settings)
        if not isinstance(parsed, dict):
            raise self._no_json(response.body)
        return parsed

    def _no_json(self, body: bytes) -> ModelBusy | ModelRefused:
        if body.lstrip().startswith(b"{"):
            return ModelBusy(f"{self._where()} broke off in the middle of its answer")
        what = "something that is not JSON" if body.strip() else "nothing"
        return ModelRefused(f"{self._where()} answered {what}; check the base URL")

    def _where(self) -> str:
        return f"{self._what} at {httpx.URL(self._url).host}"


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    headers: httpx.Headers
    body: bytes


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
