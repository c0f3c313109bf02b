"""A model that asks about the facts of a turn together, though Graphiti asks about each alone."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from turnetl.base.errors import BadTurn, TurnetlError, equal_error
from turnetl.base.model import Usage
from turnetl.extraction.llm import fact_questions
from turnetl.llm import validate
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse


@dataclass(frozen=True, slots=True, eq=False)
class _WaitingFact:
    request: ChatRequest
    """About this fact alone."""
    response: asyncio.Future[ChatResponse]


class FactBatches:
    """A model for the resolution of one turn: all its requests about single facts share requests.

    Requests that tasks send within one iteration of the event loop are together, in the order of
    the tasks. Graphiti starts the tasks of all facts of a turn at the same time, so that the same
    turn always sends the same requests. All other requests pass through.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._waiting: list[_WaitingFact] = []
        self._sending: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the response; the usage of a shared request is that of its first fact.

        A shared request is cancelled with the last of its facts.

        Raises:
            ModelUnusable, ModelBusy, BadTurn, RunStopped: as the model. Facts of one request that
                are not answered yet fail together.
        """
        if request.prompt_name != fact_questions.SINGLE_PROMPT:
            return await self._model.complete(request)
        loop = asyncio.get_running_loop()
        if not self._waiting:
            # Not in the task of the first fact, whose cancellation must not end the others.
            loop.call_soon(self._send_waiting)
        fact = _WaitingFact(request, loop.create_future())
        self._waiting.append(fact)
        try:
            return await fact.response
        finally:
            # Else this frame and an error refer to each other, and to the group in memory.
            del fact

    async def close(self) -> None:
        """Close the model, then cancel the requests that it has not answered."""
        try:
            await self._model.close()
        finally:
            for fact in self._waiting:
                fact.response.cancel()
            sending = tuple(self._sending)
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)

    def _send_waiting(self) -> None:
        """Send the requests of the last iteration of the event loop."""
        waiting, self._waiting = self._waiting, []
        wanted = [fact for fact in waiting if not fact.response.done()]
        for part in fact_questions.in_requests([fact.request for fact in wanted]):
            self._start(wanted[part])

    def _start(self, facts: Sequence[_WaitingFact]) -> None:
        sending = asyncio.create_task(self._send(facts))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)

        def cancel_if_unneeded(_: asyncio.Future[ChatResponse]) -> None:
            if all(fact.response.cancelled() for fact in facts):
                sending.cancel()

        for fact in facts:
            fact.response.add_done_callback(cancel_if_unneeded)

    async def _send(self, facts: Sequence[_WaitingFact]) -> None:
        batch = _Batch(self._model, [fact.request for fact in facts])
        try:
            await batch.ask(range(len(facts)))
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            batch.answer(facts)
            batch.fail(facts, error)
        else:
            batch.answer(facts)
        finally:
            for fact in facts:
                fact.response.cancel()
            del facts, fact  # as above


@dataclass(slots=True)
class _Batch:
    """Facts that share a request, and all requests that it takes."""

    model: ChatModel
    requests: Sequence[ChatRequest]
    """About single facts."""
    texts: dict[int, str] = field(default_factory=dict)
    """Of the responses so far, by number of the request: each as if it had been sent alone."""
    usage: Usage = field(default_factory=Usage)
    """Of all requests so far, until the first fact gets it."""

    async def ask(self, numbers: Sequence[int]) -> None:
        """Ask until each of these requests has a response.

        Raises:
            BadTurn: there is none to one of them, although it was asked alone.
        """
        try:
            found = await self._found([self.requests[number] for number in numbers])
        except BadTurn:
            if len(numbers) == 1:
                raise
            found = {}
        self.texts.update((numbers[index], text) for index, text in found.items())
        missing = [number for number in numbers if number not in self.texts]
        if missing and found:
            # The model may answer about fewer facts.
            await self.ask(missing)
        elif missing:
            middle = len(missing) // 2
            await self.ask(missing[:middle])
            await self.ask(missing[middle:])

    def answer(self, facts: Sequence[_WaitingFact]) -> None:
        """Give the facts their responses; the first of them has the usage."""
        unpaid = ChatResponse("", 0, 0, truncated=False, calls=0)
        for number, text in sorted(self.texts.items()):
            if not (response := facts[number].response).done():
                response.set_result(replace(unpaid, text=text).with_usage(self._take_usage()))

    def fail(self, facts: Sequence[_WaitingFact], error: Exception) -> None:
        """Fail the facts without a response; the first error has the usage that none has yet.

        An error that ends the run has none. It was spent all the same: the meter and the account
        count each attempt, and the responses are in the journal for the turn that needs them again.
        """
        for fact in facts:
            if not fact.response.done():
                fact.response.set_exception(_with_usage(error, self._take_usage()))

    async def _found(self, requests: Sequence[ChatRequest]) -> Mapping[int, str]:
        """Return the responses to a shared request by index; to a single one, it is there."""
        try:
            shared = await self.model.complete(fact_questions.combined(requests))
        except BadTurn as error:
            self.usage += error.usage
            raise
        self.usage += shared.usage
        try:
            found = fact_questions.responses(shared.text, len(requests))
        except ValueError as error:
            reason = validate.describe(error)
            raise self._bad_turn(f"returned an invalid response: {reason}") from error
        if len(requests) == 1 and not found:
            raise self._bad_turn("returned no answer about a fact")
        return found

    def _take_usage(self) -> Usage:
        """Return the usage once, and then none."""
        usage, self.usage = self.usage, Usage()
        return usage

    def _bad_turn(self, problem: str) -> BadTurn:
        message = f"model `{self.model.name}` {problem} (`{fact_questions.PROMPT}`)"
        return BadTurn(message, problem=problem)


def _with_usage(error: Exception, usage: Usage) -> Exception:
    """Return an equal error of one fact of a request, whose usage counts once."""
    if not isinstance(error, TurnetlError):
        return error
    equal = equal_error(error)
    if isinstance(equal, BadTurn):
        equal.usage = usage
    return equal
