"""A model that asks about the facts of a turn together, though Graphiti asks about each alone."""

import asyncio
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass

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
        try:
            responses = await self._responses([question.request for question in questions])
        except TurnetlError as error:
            _fail(questions, error)
            del questions  # as above
            return
        for question, response in zip(questions, responses, strict=True):
            question.answer(response)

    async def _responses(self, requests: Sequence[ChatRequest]) -> list[ChatResponse]:
        """Return the response to each request; those that do not fit together are sent in halves.

        The usage of all requests that were sent is that of the first response.
        """
        try:
            shared = await self._model.complete(fact_questions.combined(requests))
        except TooLong as error:
            if len(requests) == 1:
                raise
            halves = await self._halves(requests)
            return _with_usage(halves, error.usage)
        found = self._parsed(shared, len(requests))
        missing = [number for number in range(len(requests)) if number not in found]
        rest = await self._unanswered(requests, missing, shared) if missing else []
        responses = dict(zip(missing, rest, strict=True)) | {
            number: ChatResponse(text, 0, 0, truncated=False, calls=0)
            for number, text in found.items()
        }
        return _with_usage([responses[number] for number in sorted(responses)], shared.usage)

    async def _halves(self, requests: Sequence[ChatRequest]) -> list[ChatResponse]:
        middle = len(requests) // 2
        return [
            *await self._responses(requests[:middle]),
            *await self._responses(requests[middle:]),
        ]

    async def _unanswered(
        self, requests: Sequence[ChatRequest], missing: Sequence[int], shared: ChatResponse
    ) -> list[ChatResponse]:
        """Ask again what a response leaves out: the model may answer fewer questions in full."""
        if len(requests) == 1:
            problem = "returned no answer about a fact"
            raise BadTurn(f"model `{self.name}` {problem}", shared.usage, problem=problem)
        left = [requests[number] for number in missing]
        return await (self._halves if len(left) == len(requests) else self._responses)(left)

    def _parsed(self, response: ChatResponse, count: int) -> Mapping[int, str]:
        try:
            return fact_questions.responses(response.text, count)
        except ValueError as error:
            problem = f"returned an invalid response: {validate.describe(error)}"
            message = f"model `{self.name}` {problem} to `{fact_questions.PROMPT}`"
            raise BadTurn(message, response.usage, problem=problem) from error


def _fail(questions: Sequence[_Question], error: TurnetlError) -> None:
    for number, question in enumerate(questions):
        question.fail(_without_usage(error) if number else error)


def _with_usage(responses: Sequence[ChatResponse], added: Usage) -> list[ChatResponse]:
    first, *others = responses
    return [first.with_usage(first.usage + added), *others]


def _without_usage(error: TurnetlError) -> TurnetlError:
    """Return an equal error that another fact of the request raises: its usage counts once."""
    equal = copy(error)
    if isinstance(equal, BadTurn):
        equal.usage = Usage()
    return equal
