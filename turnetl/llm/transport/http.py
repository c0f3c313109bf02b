"""A model behind HTTP: one attempt a call. What went wrong becomes the error that names its remedy.

Whoever asks again, waits, counts or keeps stands around it; see `turnetl.llm.stack`.
"""

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

import httpx

from turnetl.errors import BadTurn, ModelBusy, ModelRefused, TooLong
from turnetl.llm.chat import ChatRequest, ChatResponse, ProviderAdapter
from turnetl.llm.transport import failures
from turnetl.llm.transport.address import check_key, split_credentials
from turnetl.llm.transport.connections import Connections, Timeouts
from turnetl.llm.transport.context_window import ContextWindow
from turnetl.llm.transport.unsupported_params import UnsupportedParams

__all__ = ["Endpoint", "HttpModel", "Timeouts"]

log = logging.getLogger(__name__)

_MOST_BYTES = 32 << 20
"""No answer is longer; what is, never ends."""
_ANSWERS = frozenset(
    ("choices", "content", "candidates", "data", "usage", "usageMetadata", "promptFeedback")
)
"""What answers hold, of models and embedders, even if there is nothing in them."""


class HttpModel:
    """Asks one provider's model, once a call."""

    def __init__(self, wire: ProviderAdapter, api_key: str | None, *, timeouts: Timeouts) -> None:
        self._wire = wire
        self._room = ContextWindow()
        self._unwanted = UnsupportedParams()
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

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask once.

        Raises:
            ModelBusy: also where it has too little room for so long an answer, or does not take
                something said beside the request; asked at once again, it is asked otherwise.
            ModelRefused, TooLong, BadTurn: as a model does.
        """
        began, asked = time.perf_counter(), self._room.fitted(request)
        sent = self._unwanted.without(self._wire.request_body(asked))
        try:
            answered = await self._endpoint.ask(sent)
        except BadTurn as error:
            if self._has_learnt(error, asked, sent):
                raise ModelBusy(str(error), retry_after=0) from error
            raise
        return replace(self._wire.parse_response(answered), seconds=time.perf_counter() - began)

    def request_body(self, request: ChatRequest) -> Mapping[str, Any]:
        """Return what would be sent now."""
        return self._unwanted.without(self._wire.request_body(self._room.fitted(request)))

    async def close(self) -> None:
        await self._endpoint.close()

    def _has_learnt(self, error: BadTurn, asked: ChatRequest, sent: Mapping[str, Any]) -> bool:
        """Whether the request may be asked again, in another way."""
        if isinstance(error, TooLong):
            return self._room.learn(error.provider_message, asked)
        if name := self._unwanted.learn(error.provider_message, sent):
            log.warning("model `%s` does not take `%s` as it was sent", self.name, name)
        return bool(name)


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
            url: whole; user and password in it are sent as a header.
            headers: of every request; an `Authorization` among them wins over a user's.
            api_key: is kept out of messages.
            settings: the beginning of the environment's names for it.
            timeouts: how long a call may take.

        Raises:
            BadUsage: the URL is none, or the key holds what no header may.
        """
        check_key(api_key, settings)
        self._url, login = split_credentials(url, settings)
        self._where = f"{what} at {httpx.URL(url).host}"
        self._api_key = api_key
        self._settings = settings
        self._timeouts = timeouts
        self._connections = Connections(login | dict(headers), timeouts)

    async def ask(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is answered.

        Raises:
            ModelRefused, ModelBusy, TooLong, BadTurn: as a model does.
        """
        sent = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return self._read(await self._post(sent))

    async def close(self) -> None:
        await self._connections.close()

    async def _post(self, body: bytes) -> "_HttpResponse":
        try:
            async with (
                asyncio.timeout(self._timeouts.total),
                self._connections.post(self._url, body) as response,
            ):
                return _HttpResponse(
                    response.status_code, response.headers, await self._whole(response)
                )
        except TimeoutError as error:
            waited = f"{self._timeouts.total:g} s"
            raise ModelBusy(
                f"{self._where} did not answer within {waited}", timed_out=True
            ) from error
        except httpx.HTTPError as error:
            what = str(error) or type(error).__name__
            raise ModelBusy(f"{self._where} did not answer: {what}") from error

    async def _whole(self, response: httpx.Response) -> bytes:
        read = bytearray()
        async for some in response.aiter_bytes():
            read += some
            if len(read) > _MOST_BYTES:
                raise BadTurn(f"{self._where} does not stop answering ({len(read):,} bytes)")
        return bytes(read)

    def _read(self, response: "_HttpResponse") -> dict[str, Any]:
        parsed = _parsed(response.body)
        status = failures.status(response.status, parsed)
        if status != HTTPStatus.OK or failures.is_one(parsed):
            said = failures.ErrorResponse.of(status, response.headers, parsed, secret=self._api_key)
            raise failures.error(said, self._where, settings=self._settings)
        if not isinstance(parsed, dict):
            raise self._no_json(response.body)
        if _ANSWERS.isdisjoint(parsed):
            raise ModelRefused(
                f"{self._where} answered in a form of its own; check "
                f"{self._settings}__PROVIDER and the base URL"
            )
        return parsed

    def _no_json(self, body: bytes) -> ModelBusy | ModelRefused:
        if body.lstrip().startswith(b"{"):
            return ModelBusy(f"{self._where} broke off in the middle of its answer")
        what = "something that is not JSON" if body.strip() else "nothing"
        return ModelRefused(f"{self._where} answered {what}; check the base URL")


@dataclass(frozen=True, slots=True)
class _HttpResponse:
    status: int
    headers: httpx.Headers
    body: bytes


def _parsed(body: bytes) -> Any:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    # As Google says what is wrong in OpenAI's format.
    return found[0] if isinstance(found, list) and len(found) == 1 else found
