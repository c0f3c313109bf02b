"""A model that asks about the facts of a turn together, though Graphiti asks about each alone."""

import asyncio
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from turnetl.errors import BadTurn, TooLong, TurnetlError
from turnetl.extraction.llm import fact_questions
from turnetl.llm import validate
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.model import Usage


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    request: ChatRequest
    response: asyncio.Future[ChatResponse]

    def answer(self, response: ChatResponse) -> None:
        if not self.response.done():
            self.response.set_result(response)

    def fail(self, error: TurnetlError) -> None:
        if not self.response.done():
            self.response.set_exception(error)


class FactBatches:
    """A model for the resolution of one turn: all its requests about single facts share requests.

    Requests that tasks send within one iteration of the event loop are together, in the order of
    the tasks. Graphiti starts the tasks of all facts of a turn at the same time, so that the same
    turn always sends the same requests. All other requests pass through.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._questions: list[_Question] = []

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the response; the usage of a shared request is that of its first fact.

        Raises:
            ModelUnusable, ModelBusy, BadTurn, RunStopped: as the model. Facts of one request fail
                together.
        """
        if request.prompt_name != fact_questions.SINGLE_PROMPT:
            return await self._model.complete(request)
        question = _Question(request, asyncio.get_running_loop().create_future())
        self._questions.append(question)
        if len(self._questions) == 1:
            await self._send_all()
        try:
            return await question.response
        finally:
            # Else this frame and an error refer to each other, and to the group in memory.
            del question

    async def close(self) -> None:
        await self._model.close()

    async def _send_all(self) -> None:
        """Send the questions of this iteration of the event loop, in the task of the first one."""
        await asyncio.sleep(0)
        questions, self._questions = self._questions, []
        parts = fact_questions.in_requests([question.request for question in questions])
        try:
            await asyncio.gather(*(self._send(questions[part]) for part in parts))
        except BaseException:
            for question in questions:
                question.response.cancel()
            raise

    async def _send(self, questions: Sequence[_Question]) -> None:
        batch = _Batch(self._model)
        try:
            texts = await batch.texts([question.request for question in questions])
        except TurnetlError as error:
            _fail(questions, error, batch.usage)
            del questions  # as above
            return
        unpaid = ChatResponse("", 0, 0, truncated=False, calls=0)
        paid = unpaid.with_usage(batch.usage)
        for number, (question, text) in enumerate(zip(questions, texts, strict=True)):
            question.answer(replace(unpaid if number else paid, text=text))


@dataclass(slots=True)
class _Batch:
    """Facts that share a request, and all requests that it takes."""

    model: ChatModel
    usage: Usage = field(default_factory=Usage)
    """Of all requests so far."""

    async def texts(self, requests: Sequence[ChatRequest]) -> list[str]:
        """Return the text of the response to each request, as if it had been sent alone."""
        try:
            shared = await self.model.complete(fact_questions.combined(requests))
        except BadTurn as error:
            self.usage += error.usage
            if isinstance(error, TooLong) and len(requests) > 1:
                return await self._halves(requests)
            raise
        self.usage += shared.usage
        found = self._parsed(shared.text, len(requests))
        missing = [number for number in range(len(requests)) if number not in found]
        if missing and len(requests) == 1:
            raise self._bad_turn("returned no answer about a fact")
        if missing and not found:
            # The model may answer fewer questions.
            return await self._halves(requests)
        rest = await self.texts([requests[number] for number in missing]) if missing else []
        texts = {**found, **dict(zip(missing, rest, strict=True))}
        return [texts[number] for number in range(len(requests))]

    async def _halves(self, requests: Sequence[ChatRequest]) -> list[str]:
        middle = len(requests) // 2
        return [*await self.texts(requests[:middle]), *await self.texts(requests[middle:])]

    def _parsed(self, text: str, count: int) -> Mapping[int, str]:
        try:
            return fact_questions.responses(text, count)
        except ValueError as error:
            reason = validate.describe(error)
            raise self._bad_turn(f"returned an invalid response: {reason}") from error

    def _bad_turn(self, problem: str) -> BadTurn:
        message = f"model `{self.model.name}` {problem} (`{fact_questions.PROMPT}`)"
        return BadTurn(message, problem=problem)


def _fail(questions: Sequence[_Question], error: TurnetlError, usage: Usage) -> None:
    for number, question in enumerate(questions):
        question.fail(_with_usage(error, Usage() if number else usage))


def _with_usage(error: TurnetlError, usage: Usage) -> TurnetlError:
    """Return an equal error of one fact of a request, whose usage counts once."""
    equal = copy(error)
    equal.__cause__ = error.__cause__
    if isinstance(equal, BadTurn):
        equal.usage = usage
    return equal
