"""Models with a response cache: a request that has a stored response is not sent again."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import msgspec

from turnetl.base.errors import Fatal, Retryable, TooLong
from turnetl.llm import retry
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse, ModelWrapper
from turnetl.llm.journal.file import checksum, request_key, to_response, usage_fields
from turnetl.llm.journal.store import TTL, Journal

log = logging.getLogger(__name__)

_GRACE_PERIOD = 30.0
"""Seconds; most responses arrive within ten."""
_FIRST_INTERVAL, _LAST_INTERVAL = 0.05, 1.0
"""Seconds between two looks at the claim of another process."""


class JournaledModel(ModelWrapper):
    """A model that looks up each request in a journal and stores the response before returning it.

    Equal concurrent requests share one call, also those of several processes with one journal: one
    claims the request, and the others wait for its response. A call that was sent continues when
    its caller is cancelled: it is paid for, and the next equal request gets its response; one that
    still waits to be sent ends with its last caller. Truncation of a response is stored too.
    """

    def __init__(
        self,
        model: ChatModel,
        journal: Journal,
        *,
        parameters: str = "",
        grace_period: float = _GRACE_PERIOD,
        is_sent: Callable[[asyncio.Task[Any]], bool] = lambda _: True,
    ) -> None:
        """Wrap a model that returns only valid responses.

        Args:
            journal: of all models of the process. Its owner closes it, after this model.
            grace_period: seconds that `close` waits for responses without a caller.
            is_sent: whether a task has sent its request; no other continues without a caller.
        """
        super().__init__(model)
        self._journal = journal
        self._parameters = parameters
        self._grace_period = grace_period
        self._is_sent = is_sent
        self._calls: dict[str, asyncio.Task[ChatResponse]] = {}
        self._callers: Counter[asyncio.Task[ChatResponse]] = Counter()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the stored response, else send the request.

        Raises:
            JournalUnusable: the journal cannot be read or written: no request was sent.
            TooLong: as the model, now or earlier; with the usage. Other errors are not stored.
        """
        key = request_key(self.name, request, self._parameters)
        if key not in self._calls:
            stored = await self._lookup(key, request)
            if stored is not None:
                return stored
        if key not in self._calls:
            self._start(key, request)
        return await self._response(key, self._calls[key])

    async def close(self) -> None:
        """Wait for responses that are paid for, up to the grace period; then cancel and close."""
        try:
            await self._drain()
        finally:
            await _cancel(self._calls.values())
            await self._model.close()

    async def _response(self, key: str, call: asyncio.Task[ChatResponse]) -> ChatResponse:
        self._callers[call] += 1
        try:
            # Shielded: the call is shared, and the cancellation of one caller must not end it.
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            if self._callers[call] == 1 and not self._is_sent(call):
                self._forget(key, call)
                call.cancel()
            raise
        finally:
            self._callers[call] -= 1
            if not self._callers[call]:
                del self._callers[call]

    async def _drain(self) -> None:
        # A request that still waits to be sent would cost money after the end of the run.
        await _cancel([call for call in self._calls.values() if not self._is_sent(call)])
        if self._calls:
            message = "waiting up to %g s for responses that are already paid for: %s"
            log.warning(message, self._grace_period, f"{len(self._calls):,}")
            await asyncio.wait(self._calls.values(), timeout=self._grace_period)

    async def _lookup(self, key: str, request: ChatRequest) -> ChatResponse | None:
        stored = await self._journal.get_async(key)
        if stored is None:
            return None
        if not stored.truncated and not _is_valid(stored, request):
            # An earlier version may have validated less strictly.
            self._journal.mark_unreadable(key, request.prompt_name)
            return None
        self._journal.count_hit(key)
        # Yield to the event loop: a run with cache hits only would block it, and with it the
        # renewal of the lease.
        await asyncio.sleep(0)
        if stored.truncated:
            raise TooLong(
                f"model `{self.name}`: the response to `{request.prompt_name}` was truncated after "
                f"{stored.completion_tokens:,} tokens, according to the journal",
                stored.usage,
            )
        return stored

    def _start(self, key: str, request: ChatRequest) -> None:
        call = asyncio.create_task(self._call(key, request))
        self._calls[key] = call
        call.add_done_callback(lambda done: self._finish(key, done))

    async def _call(self, key: str, request: ChatRequest) -> ChatResponse:
        await self._journal.check_writable()
        async with self._claimed(key):
            # Another process may have stored the response since the first lookup.
            stored = await self._lookup(key, request)
            return stored if stored is not None else await self._send(key, request)

    @asynccontextmanager
    async def _claimed(self, key: str) -> AsyncIterator[None]:
        """Wait until no other process sends this request, and claim it during the block."""
        interval = _FIRST_INTERVAL
        try:
            while not await self._journal.claim(key):
                await asyncio.sleep(interval)
                interval = min(2 * interval, _LAST_INTERVAL)
        except asyncio.CancelledError:
            # The claim may be made at this moment: other processes would wait for nobody.
            self._journal.release_claim(key)
            raise
        renewal = asyncio.create_task(self._renew(key))
        try:
            yield
        finally:
            renewal.cancel()
            self._journal.release_claim(key)

    async def _renew(self, key: str) -> None:
        while True:
            await asyncio.sleep(TTL.total_seconds() / 3)
            await self._journal.renew_claim(key)

    async def _send(self, key: str, request: ChatRequest) -> ChatResponse:
        try:
            response = await self._model.complete(request)
        except TooLong as error:
            # A request that was rejected as too long caused no cost.
            if error.usage.calls:
                truncated = ChatResponse("", 0, 0, truncated=True).with_usage(error.usage)
                await self._journal.put_async(key, request, self.name, truncated)
            raise
        if not (response.truncated or response.refused):
            await self._journal.put_async(key, request, self.name, response)
        return response

    def _finish(self, key: str, call: asyncio.Task[ChatResponse]) -> None:
        self._forget(key, call)
        # Mark the exception as retrieved: all callers may have been cancelled.
        if not call.cancelled():
            call.exception()

    def _forget(self, key: str, call: asyncio.Task[ChatResponse]) -> None:
        if self._calls.get(key) is call:
            del self._calls[key]


def _is_valid(response: ChatResponse, request: ChatRequest) -> bool:
    try:
        retry.check_response(response.text, request.schema)
    except ValueError:
        return False
    return True


async def _cancel(calls: Iterable["asyncio.Task[ChatResponse]"]) -> None:
    calls = tuple(calls)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


_FAILURES = (OSError, Fatal, Retryable)


class SharedResponses(Protocol):
    """Contents by key, written once. Every method may raise OSError, Fatal or Retryable."""

    def read(self, key: str) -> bytes | None: ...

    def write(self, key: str, content: bytes) -> None:
        """Write a content. An existing one stays."""

    def erase(self, is_erased: Callable[[bytes], bool]) -> int:
        """Remove the contents that the function selects, and return their number."""


class SharedModel(ModelWrapper):
    """A model that looks for the response of another machine before it sends a request.

    Shared responses are a help only: without them a request is sent and paid for again. Truncated
    ones are not shared.
    """

    def __init__(
        self,
        model: ChatModel,
        responses: SharedResponses,
        *,
        on_hit: Callable[[str], None],
        parameters: str = "",
    ) -> None:
        """Wrap a model that returns only valid responses; `on_hit` receives keys of those found."""
        super().__init__(model)
        self._responses = responses
        self._on_hit, self._parameters = on_hit, parameters

    async def complete(self, request: ChatRequest) -> ChatResponse:
        key = request_key(self.name, request, self._parameters)
        stored = await asyncio.to_thread(self._read, key, request)
        if stored is not None:
            self._on_hit(key)
            return stored
        response = await self._model.complete(request)
        if not (response.truncated or response.refused):
            await asyncio.shield(asyncio.to_thread(self._write, key, response))
        return response

    def _read(self, key: str, request: ChatRequest) -> ChatResponse | None:
        try:
            content = self._responses.read(key)
        except _FAILURES as error:
            log.warning("the shared responses cannot be read: %s", error)
            return None
        response = None if content is None else decoded_response(key, content)
        # Another version may have validated less strictly.
        return response if response is not None and _is_valid(response, request) else None

    def _write(self, key: str, response: ChatResponse) -> None:
        try:
            self._responses.write(key, encoded_response(key, response))
        except _FAILURES as error:
            log.warning("a response is not shared: %s", error)


def encoded_response(key: str, response: ChatResponse) -> bytes:
    """Return a response as it is shared: usage and checksum in one line, and the text as it is.

    The text is not encoded, so that a search for what it holds finds it.
    """
    text, usage = response.text.encode("utf-8", "surrogatepass"), usage_fields(response)
    return msgspec.json.encode([checksum(key, text, usage), *usage]) + b"\n" + text


def decoded_response(key: str, content: bytes) -> ChatResponse | None:
    """Return a shared response; None if it is damaged."""
    header, _, text = content.partition(b"\n")
    try:
        found, *usage = msgspec.json.decode(header, type=list[str | int | float | None])
        return to_response(key, (text, found, "", *usage))
    except (msgspec.DecodeError, ValueError):
        return None
