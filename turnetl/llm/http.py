"""A model over HTTP: one attempt per request, each failure as the error that names its remedy.

Retries, waits, usage and the journal are handled by its wrappers; see `turnetl.llm.stack`.
"""

import asyncio
import json
import logging
import re
import ssl
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from http import HTTPStatus
from typing import Any

import httpx

from turnetl.base.errors import BadTurn, BadUsage, ModelBusy, ModelUnusable, TooLong
from turnetl.base.object_url import is_loopback
from turnetl.llm import error_responses, retry
from turnetl.llm.chat import (
    ChatMessage,
    ChatRequest,
    ChatResponse,
    ModelWrapper,
    ProviderAdapter,
    ResponseSchema,
)
from turnetl.llm.error_responses import ContextWindow


def split_credentials(url: str, env_prefix: str) -> tuple[str, dict[str, str]]:
    """Return the URL, which the HTTP library logs, without user and password, and their header.

    BadUsage: the URL is invalid. The message omits it: it may contain a password.
    """
    invalid = BadUsage(f"{env_prefix}__BASE_URL is not a valid URL; set it again")
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        raise invalid from None
    if parsed.scheme not in ("http", "https") or not parsed.host or " " in url:
        raise invalid
    if not parsed.userinfo:
        return url, {}
    login = f"{parsed.username}:{parsed.password}".encode()
    header = {"Authorization": f"Basic {b64encode(login).decode()}"}
    return str(parsed.copy_with(userinfo=b"")), header


def check_key(key: str | None, env_prefix: str) -> None:
    """Raise BadUsage, without quoting the key, if an HTTP header cannot carry it."""
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise BadUsage(
            f"{env_prefix}__API_KEY contains a space, a line break or another character that no "
            "key has; set it again"
        )


_PROXY_VARIABLES = "HTTP_PROXY, HTTPS_PROXY and ALL_PROXY"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts of one attempt, in seconds."""

    total: float = 120.0
    """From the first byte sent to the last byte read."""
    connect: float = 10.0


class Connections:
    """A pool without a limit of its own: the limiter bounds the requests in flight.

    Each connection is a client of its own. A single client would examine all its connections, with
    a system call for each, on every request: with 16 connections that is half of a request's CPU.
    """

    def __init__(
        self, headers: Mapping[str, str], timeouts: Timeouts, *, by_proxy: bool = True
    ) -> None:
        """Create a pool; opens no connection yet. `by_proxy`: use a proxy of the environment."""
        self._by_proxy = by_proxy
        self._headers = {"Content-Type": "application/json", **headers}
        # The total timeout is enforced by the caller, over all chunks of a response.
        self._timeout = httpx.Timeout(None, connect=timeouts.connect)
        self._extensions = {"timeout": self._timeout.as_dict()}
        self._idle: list[httpx.AsyncClient] = []
        self._closed = False

    @asynccontextmanager
    async def post(self, url: httpx.URL, body: bytes) -> AsyncIterator[httpx.Response]:
        client = self._idle.pop() if self._idle else self._open()
        try:
            # The client would merge URL, headers, parameters and cookies again for each request.
            request = httpx.Request(
                "POST", url, headers=client.headers, content=body, extensions=self._extensions
            )
            response = await client.send(request, stream=True)
            try:
                yield response
            finally:
                await response.aclose()
        finally:
            if self._closed:
                await client.aclose()
            else:
                self._idle.append(client)

    async def close(self) -> None:
        self._closed = True
        while self._idle:
            await self._idle.pop().aclose()

    def _open(self) -> httpx.AsyncClient:
        try:
            return httpx.AsyncClient(
                headers=self._headers,
                timeout=self._timeout,
                limits=_SINGLE,
                verify=self._tls,
                trust_env=self._by_proxy,
            )
        except httpx.InvalidURL:  # The message omits the URL: it may contain a password.
            raise ModelUnusable(
                "cannot open a connection: the proxy in the environment is not a valid URL; "
                f"correct or unset {_PROXY_VARIABLES}"
            ) from None
        except (ValueError, ImportError, OSError) as error:  # Of the proxy or certificate files.
            raise ModelUnusable(
                f"cannot open a connection: {error}; check the proxy ({_PROXY_VARIABLES}) and the "
                "certificates (SSL_CERT_FILE, SSL_CERT_DIR) in the environment"
            ) from error

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()


_SINGLE = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30)


log = logging.getLogger(__name__)

_MAX_BYTES = 32 << 20
"""No response is longer. A longer one never ends."""
_RESPONSE_FIELDS = frozenset(
    ("choices", "content", "candidates", "data", "usage", "usageMetadata", "promptFeedback")
)
"""Fields of responses of models and embedders. Every response has one, even an empty response."""


class HttpModel:
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
        """Send the request once; ModelBusy: it may succeed without a parameter that is rejected."""
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
        """Create an endpoint; opens no connection yet. The key is removed from messages.

        Args:
            subject: for messages, as in "model `m`".
            url: complete; user and password in it are sent as a header, unless `headers` has an
                `Authorization`. A proxy of the environment is used unless the host is this machine.
            env_prefix: prefix of the environment variables, for messages.
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
        """Return the body of the response; raises what `ChatModel.complete` raises."""
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


_REJECTION = re.compile(
    r"(?:not|n't|no longer) (?:be )?(?:support|allow|permit|accept|avail)|unsupported|deprecated"
    r"|unrecogni[sz]ed|unknown|unexpected|extra (?:inputs|fields)|only the default",
    re.IGNORECASE,
)
_PARAMETERS: Mapping[str, re.Pattern[str]] = {
    "temperature": re.compile(r"\btemperature\b", re.IGNORECASE),
    "reasoning_effort": re.compile(r"\breasoning[_. ]effort\b", re.IGNORECASE),
    "effort": re.compile(r"\beffort\b", re.IGNORECASE),
    "thinkingConfig": re.compile(r"thinking[_ ]?(?:config|level|budget)", re.IGNORECASE),
    "max_tokens": re.compile(r"\bmax_tokens\b"),
    "max_completion_tokens": re.compile(r"\bmax_completion_tokens\b"),
}
"""How errors name them. Some are nested inside a section of the request body."""
_ALTERNATIVES = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}
"""The response limit must be sent under one of its names: a budget relies on it."""


class UnsupportedParams:
    """The parameters that one model rejects, learned from its errors; none at first.

    For known model names, the adapters know them. A name that the user chose, as of a deployment,
    may stand for any model.
    """

    def __init__(self) -> None:
        self._names: set[str] = set()

    def removed_from(self, body: Mapping[str, Any]) -> dict[str, Any]:
        if not self._names:
            return dict(body)
        accepted = {}
        for name, value in body.items():
            if name not in self._names:
                accepted[name] = self.removed_from(value) if isinstance(value, dict) else value
            elif name in _ALTERNATIVES:
                accepted[_ALTERNATIVES[name]] = value
        return accepted

    def learn(self, message: str, sent: Mapping[str, Any]) -> str:
        """Return the parameter to retry without; an empty string if the error names none."""
        if not _REJECTION.search(message):
            return ""
        # An error may also name the parameter to use instead, which was not sent.
        name = next((name for name in _known(sent) if _PARAMETERS[name].search(message)), "")
        if _ALTERNATIVES.get(name) in self._names:
            return ""
        self._names |= {name} if name else set()
        return name


def _known(sent: Mapping[str, Any]) -> Iterator[str]:
    for name, value in sent.items():
        if name in _PARAMETERS:
            yield name
        elif isinstance(value, dict):
            yield from _known(value)


_REJECTIONS = (
    "response_format",
    "json_schema",
    "response format",
    "json schema",
    "guided_json",
    "grammar",
)
"""Words in the error of a server that does not support schemas."""

_EVIDENCE = 2
"""Unrelated responses that prove that a server ignores schemas. One may be an accident."""


class SchemaInPromptModel(ModelWrapper):
    """A model whose server receives schemas as a parameter until that fails.

    It has failed when the server rejects the parameter, or when the first two responses have none
    of the fields of their schemas. From then on, the prompt contains the schema too.
    """

    _model: HttpModel

    def __init__(self, model: HttpModel) -> None:
        super().__init__(model)
        self._supports_schemas = False
        """A response had a field of its schema: a later one without is an accident."""
        self._unrelated = 0
        """Responses so far with no field of their schema."""
        self._in_prompt = False
        self._as_parameter = True

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Send the request once; ModelBusy: it may succeed with the schema in the prompt."""
        if request.schema is None:
            return await self._model.complete(request)
        sent = self._prepared(request, request.schema)
        try:
            response = await self._model.complete(sent)
        except (BadTurn, ModelBusy) as error:
            # Some servers return status 500 for it.
            if sent.schema is None or not _is_schema_rejected(error):
                raise
            self._as_parameter, self._in_prompt = False, True
            log.warning("model `%s` rejects schemas; the prompt contains them now", self.name)
            raise ModelBusy(str(error), retry_after=0) from error
        self._learn(response, request.schema)
        return response

    def request_body(self, request: ChatRequest) -> Mapping[str, Any]:
        sent = self._prepared(request, request.schema) if request.schema else request
        return self._model.request_body(sent)

    def _prepared(self, request: ChatRequest, schema: ResponseSchema) -> ChatRequest:
        if not self._in_prompt:
            return request
        return replace(
            request,
            messages=_with_schema(request.messages, schema),
            schema=schema if self._as_parameter else None,
        )

    def _learn(self, response: ChatResponse, schema: ResponseSchema) -> None:
        """Decide by the first response that has a field, or by two that have none."""
        if self._supports_schemas or self._in_prompt:
            return
        if response.truncated or response.refused or not response.text:
            return
        if _has_a_field(response.text, schema):
            self._supports_schemas = True
            return
        self._unrelated += 1
        if self._unrelated == _EVIDENCE:
            self._in_prompt = True
            log.warning("model `%s` ignores schemas; the prompt contains them now", self.name)


def _is_schema_rejected(error: BadTurn | ModelBusy) -> bool:
    message = str(error).lower()
    return any(name in message for name in _REJECTIONS)


def _has_a_field(text: str, schema: ResponseSchema) -> bool:
    try:
        parsed = retry.parse_object(retry.strip_wrapping(text))
    except ValueError:
        return False
    return not schema.json.get("properties", {}).keys().isdisjoint(parsed)


def _with_schema(
    messages: tuple[ChatMessage, ...], schema: ResponseSchema
) -> tuple[ChatMessage, ...]:
    serialized = json.dumps(schema.json, ensure_ascii=False)
    suffix = f"\n\nAnswer with one JSON object of this JSON Schema and nothing else:\n{serialized}"
    return (*messages[:-1], ChatMessage(messages[-1].role, messages[-1].text + suffix))
