"""Responses that several machines share: who has no journal in common pays only once, too.

They are looked up just before a request is sent, and are a help only: without them a request is
sent and paid for again. Truncated responses are not shared.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

import msgspec

from turnetl.base.errors import Fatal, Retryable
from turnetl.llm import validate
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.journal.rows import checksum, request_key, to_response, usage_fields

log = logging.getLogger(__name__)

_FAILURES = (OSError, Fatal, Retryable)


class SharedResponses(Protocol):
    """Contents by key, written once.

    Every method may raise:
        OSError, Fatal, Retryable: they cannot be reached.
    """

    def read(self, key: str) -> bytes | None:
        """Return a content; None if there is none."""

    def write(self, key: str, content: bytes) -> None:
        """Write a content. An existing one stays."""

    def erase(self, is_erased: Callable[[bytes], bool]) -> int:
        """Remove contents, and return their number.

        Args:
            is_erased: called with each content.
        """


class SharedModel:
    """A model that looks for the response of another machine before it sends a request."""

    def __init__(
        self,
        model: ChatModel,
        responses: SharedResponses,
        *,
        on_hit: Callable[[str], None],
        parameters: str = "",
    ) -> None:
        """Wrap a model that returns only valid responses.

        Args:
            model: receives the other requests.
            responses: of all machines.
            on_hit: called with the key of each response that was found.
            parameters: sent with every request, part of the key.
        """
        self._model, self._responses = model, responses
        self._on_hit, self._parameters = on_hit, parameters

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the response of another machine, else send the request and share its response."""
        key = request_key(self.name, request, self._parameters)
        stored = await asyncio.to_thread(self._read, key, request)
        if stored is not None:
            self._on_hit(key)
            return stored
        response = await self._model.complete(request)
        if not (response.truncated or response.refused):
            await asyncio.shield(asyncio.to_thread(self._write, key, response))
        return response

    async def close(self) -> None:
        await self._model.close()

    def _read(self, key: str, request: ChatRequest) -> ChatResponse | None:
        try:
            content = self._responses.read(key)
        except _FAILURES as error:
            log.warning("the shared responses cannot be read: %s", error)
            return None
        response = None if content is None else decoded(key, content)
        try:
            if response is not None:
                validate.check_response(response.text, request.schema)
        except ValueError:
            # Another version may have validated less strictly.
            return None
        return response

    def _write(self, key: str, response: ChatResponse) -> None:
        try:
            self._responses.write(key, encoded(key, response))
        except _FAILURES as error:
            log.warning("a response is not shared: %s", error)


def encoded(key: str, response: ChatResponse) -> bytes:
    """Return a response as it is shared: usage and checksum in one line, and the text as it is.

    The text is not encoded, so that a search for what it holds finds it.
    """
    text, usage = response.text.encode("utf-8", "surrogatepass"), usage_fields(response)
    return msgspec.json.encode([checksum(key, text, usage), *usage]) + b"\n" + text


def decoded(key: str, content: bytes) -> ChatResponse | None:
    """Return a shared response; None if it is damaged."""
    header, _, text = content.partition(b"\n")
    try:
        found, *usage = msgspec.json.decode(header, type=list[str | int | float | None])
        return to_response(key, (text, found, "", *usage))
    except (msgspec.DecodeError, ValueError):
        return None
