"""A model over HTTP: one attempt per request, each failure as the error that names its remedy.

Retries, waits, usage and the journal are handled by its wrappers; see `turnetl.llm.stack`.
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

from turnetl.base.errors import BadTurn, ModelBusy, ModelUnusable, TooLong
from turnetl.base.loopback import is_loopback
from turnetl.llm.chat import ChatRequest, ChatResponse, ProviderAdapter
from turnetl.llm.transport import error_responses
from turnetl.llm.transport.address import check_key, split_credentials
from turnetl.llm.transport.connections import Connections, Timeouts
from turnetl.llm.transport.context_window import ContextWindow
from turnetl.llm.transport.unsupported_params import UnsupportedParams

__all__ = ["Endpoint", "HttpModel", "Timeouts"]

log = logging.getLogger(__name__)

_MAX_BYTES = 32 << 20
"""No response is longer. A longer one never ends."""
_RESPONSE_FIELDS = frozenset(
    ("choices", "content", "candidates", "data", "usage", "usageMetadata", "promptFeedback")
)
"""Fields of responses of models and embedders. Every response has one, even an empty response."""


class HttpModel:
    """One model of one provider; makes one attempt per request."""

    def __init__(
        self, adapter: ProviderAdapter, api_key: str | None, *, timeouts: Timeouts
    ) -> None:
        self._adapter = adapter
        self._context_window = ContextWindow()
        self._unsupported = UnsupportedParams()
        self._endpoint = Endpoint(
            f"model `{self.name}`",
            adapter.url(),
            headers=adapter.headers(api_key),
            api_key=api_key,
            env_prefix="TURNETL_LLM",
            timeouts=timeouts,
        )

    @property
    def name(self) -> str:
        return f"{self._adapter.provider}/{self._adapter.model}"

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Send the request once.

        Raises:
            ModelBusy: also if the model rejects `max_tokens` or another parameter. An immediate
                retry sends the request without it.
            ModelUnusable, TooLong, BadTurn: as any model.
        """
        started, limited = time.perf_counter(), self._context_window.limited(request)
        body = self._unsupported.removed_from(self._adapter.request_body(limited))
        try:
            received = await self._endpoint.post(body)
        except BadTurn as error:
            if self._has_learned(error, limited, body):
                raise ModelBusy(str(error), retry_after=0) from error
            raise
        response = self._adapter.parse_response(received)
        return replace(response, seconds=time.perf_counter() - started)

    def request_body(self, request: ChatRequest) -> Mapping[str, Any]:
        """Return the body that would be sent now."""
        limited = self._context_window.limited(request)
        return self._unsupported.removed_from(self._adapter.request_body(limited))

    async def close(self) -> None:
        await self._endpoint.close()

    def _has_learned(self, error: BadTurn, sent: ChatRequest, body: Mapping[str, Any]) -> bool:
        """Return whether a changed request may succeed."""
        if isinstance(error, TooLong):
            return self._context_window.learn(error.provider_message, sent)
        if name := self._unsupported.learn(error.provider_message, body):
            log.warning("model `%s` rejects the parameter `%s`", self.name, name)
        return bool(name)


class Endpoint:
    """One URL of a provider: posts JSON and returns JSON, in one attempt."""

    def __init__(
        self,
        subject: str,
        url: str,
        *,
        headers: Mapping[str, str],
        api_key: str | None,
        env_prefix: str,
        timeouts: Timeouts,
    ) -> None:
        """Create an endpoint; opens no connection yet.

        Args:
            subject: for messages, as in "model `m`".
            url: complete; user and password in it are sent as a header. A proxy of the environment
                is used unless the host is this machine.
            headers: of every request; an `Authorization` header among them wins over user and
                password.
            api_key: removed from messages.
            env_prefix: prefix of the environment variables, for messages.
            timeouts: of one attempt.

        Raises:
            BadUsage: the URL is invalid, or a header cannot carry the key.
        """
        check_key(api_key, env_prefix)
        without_login, login = split_credentials(url, env_prefix)
        self._url = httpx.URL(without_login)
        self._name = f"{subject} at {self._url.host}"
        self._api_key = api_key
        self._env_prefix = env_prefix
        self._timeouts = timeouts
        # A proxy that is on another machine could read what is sent to this one.
        by_proxy = not is_loopback(self._url.host)
        self._connections = Connections(login | dict(headers), timeouts, by_proxy=by_proxy)

    async def post(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of the response.

        Raises:
            ModelUnusable, ModelBusy, TooLong, BadTurn: as any model.
        """
        sent = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return self._parse(await self._send(sent))

    async def close(self) -> None:
        await self._connections.close()

    async def _send(self, body: bytes) -> "_HttpResponse":
        try:
            async with (
                asyncio.timeout(self._timeouts.total),
                self._connections.post(self._url, body) as response,
            ):
                return _HttpResponse(
                    response.status_code, response.headers, await self._read(response)
                )
        except TimeoutError as error:
            timeout = f"{self._timeouts.total:g} s"
            message = f"{self._name} did not respond within {timeout}"
            raise ModelBusy(message, timed_out=True) from error
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise ModelBusy(f"{self._name} did not respond: {reason}") from error

    async def _read(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > _MAX_BYTES:
                raise BadTurn(f"{self._name} sends an endless response ({len(body):,} bytes)")
        return bytes(body)

    def _parse(self, response: "_HttpResponse") -> dict[str, Any]:
        parsed = _json(response.body)
        status = error_responses.effective_status(response.status, parsed)
        if status != HTTPStatus.OK or error_responses.is_error(parsed):
            failure = error_responses.ErrorResponse.parse(
                status, response.headers, parsed, secret=self._api_key
            )
            raise error_responses.to_exception(failure, self._name, env_prefix=self._env_prefix)
        if not isinstance(parsed, dict):
            raise self._not_an_object(response.body)
        if _RESPONSE_FIELDS.isdisjoint(parsed):
            raise ModelUnusable(
                f"{self._name} responded in an unknown format; check "
                f"{self._env_prefix}__PROVIDER and the base URL"
            )
        return parsed

    def _not_an_object(self, body: bytes) -> ModelBusy | ModelUnusable:
        if body.lstrip().startswith(b"{"):
            return ModelBusy(f"{self._name} stopped in the middle of its response")
        content = "something other than JSON" if body.strip() else "an empty body"
        return ModelUnusable(f"{self._name} returned {content}; check the base URL")


@dataclass(frozen=True, slots=True)
class _HttpResponse:
    status: int
    headers: httpx.Headers
    body: bytes


def _json(body: bytes) -> Any:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return None
    # Google wraps an error in a list in OpenAI's format.
    return parsed[0] if isinstance(parsed, list) and len(parsed) == 1 else parsed
