"""A model whose answers are kept: what was answered once is not asked again."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from turnetl.errors import TooLong
from turnetl.llm import validate
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.journal.key import request_key
from turnetl.llm.journal.store import Journal
from turnetl.model import Usage

log = logging.getLogger(__name__)

_GRACE = 30.0
"""Seconds; most answers are there after ten."""


class JournaledModel:
    """A model that looks into a journal before it asks, and writes there before it answers.

    A request that is in the air is joined. A call goes on when whoever began it is gone: it is
    paid for, and whoever asks next finds its answer. That an answer was too long is kept as well.
    """

    def __init__(
        self,
        model: ChatModel,
        journal: Journal,
        *,
        parameters: str = "",
        grace: float = _GRACE,
        is_sent: Callable[[asyncio.Task[Any]], bool] = lambda _: True,
    ) -> None:
        """Wrap a model that gives only answers that fit.

        Args:
            model: asked for what is not in the journal.
            journal: of all models of the process; closed by whoever opened it, after this.
            parameters: what the model is told in every call, beside the request.
            grace: seconds that `close` waits for answers which nobody waits for any more.
            is_sent: whether the call that a task makes has left; `close` waits for no other.
        """
        self._model = model
        self._journal = journal
        self._parameters = parameters
        self._grace = grace
        self._is_sent = is_sent
        self._air: dict[str, asyncio.Task[ChatResponse]] = {}

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask once, if it was not asked before. What cost nothing now is `journaled`.

        Raises:
            JournalRefused: the journal cannot be read, or could not be written: nothing was asked.
            TooLong: as the model, or as it did before; with what that cost.
            ModelRefused, ModelBusy, BadTurn, Exhausted: as the model. Not kept.
        """
        key = request_key(self.name, request, self._parameters)
        if key not in self._air:
            found = await self._found(key, request)
            if found is not None:
                return found
        joined = key in self._air
        if not joined:
            self._begin(key, request)
        # The call is shared: whoever is cancelled takes it from nobody.
        answer = await asyncio.shield(self._air[key])
        return replace(answer, from_journal=True) if joined else answer

    async def close(self) -> None:
        """Wait a while for answers on their way: they are paid for. Then break off, and close."""
        try:
            await self._last_answers()
        finally:
            await _broken_off(self._air.values())
            await self._model.close()

    async def _last_answers(self) -> None:
        # What waits for its turn would be paid for after all was over.
        await _broken_off([call for call in self._air.values() if not self._is_sent(call)])
        if self._air:
            waited = "waiting up to %g s for answers that are paid for: %s"
            log.warning(waited, self._grace, f"{len(self._air):,}")
            await asyncio.wait(self._air.values(), timeout=self._grace)

    async def _found(self, key: str, request: ChatRequest) -> ChatResponse | None:
        found = await self._journal.found(key)
        if found is None:
            return None
        if not found.truncated and not _fits(found, request):
            # Kept by a version that was content with less, perhaps.
            self._journal.distrust(key, request.prompt_name)
            return None
        self._journal.use(key)
        # Else a run that finds everything would let nothing else run, not even a lease's renewal.
        await asyncio.sleep(0)
        if found.truncated:
            raise TooLong(
                f"model `{self.name}`: the answer to `{request.prompt_name}` was cut after "
                f"{found.completion_tokens:,} tokens, says the journal",
                found.usage,
            )
        return found

    def _begin(self, key: str, request: ChatRequest) -> None:
        call = asyncio.create_task(self._asked(key, request))
        self._air[key] = call
        call.add_done_callback(lambda done: self._landed(key, done))

    async def _asked(self, key: str, request: ChatRequest) -> ChatResponse:
        await self._journal.check()
        try:
            answer = await self._model.complete(request)
        except TooLong as error:
            # A request that did not even fit has cost nothing.
            if error.usage.calls:
                await self._journal.kept(key, request, self.name, _cut(error.usage))
            raise
        if not (answer.truncated or answer.refused):
            await self._journal.kept(key, request, self.name, answer)
        return answer

    def _landed(self, key: str, call: asyncio.Task[ChatResponse]) -> None:
        del self._air[key]
        # Asyncio complains of a failure that nobody saw, though nobody may wait any more.
        if not call.cancelled():
            call.exception()


def _fits(answer: ChatResponse, request: ChatRequest) -> bool:
    try:
        validate.check_response(answer.text, request.schema)
    except ValueError:
        return False
    return True


def _cut(usage: Usage) -> ChatResponse:
    """Return what is kept of an answer that was too long: what it cost."""
    return ChatResponse("", 0, 0, truncated=True).with_usage(usage)


async def _broken_off(calls: Iterable["asyncio.Task[ChatResponse]"]) -> None:
    calls = tuple(calls)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
