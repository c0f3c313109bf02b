"""Graphiti asks about each fact by itself; here one request asks about several facts of a turn.

The instructions are four fifths of a request about one fact. They are sent once, and each fact
keeps its own lists of candidates.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, Field

from turnetl.base.batched import batched_by_size
from turnetl.base.errors import BadTurn, TurnetlError, equal_error
from turnetl.base.model import Usage
from turnetl.llm import retry
from turnetl.llm.chat import (
    ChatMessage,
    ChatModel,
    ChatRequest,
    ChatResponse,
    ModelWrapper,
    response_schema,
)


@dataclass(frozen=True, slots=True, eq=False)
class _WaitingFact:
    request: ChatRequest
    """About this fact alone."""
    response: asyncio.Future[ChatResponse]


class FactBatches(ModelWrapper):
    """A model for the resolution of one turn: all its requests about single facts share requests.

    Requests that tasks send within one iteration of the event loop are together, in the order of
    the tasks. Graphiti starts the tasks of all facts of a turn at the same time, so that the same
    turn always sends the same requests. All other requests pass through.
    """

    def __init__(self, model: ChatModel) -> None:
        super().__init__(model)
        self._waiting: list[_WaitingFact] = []
        self._sending: set[asyncio.Task[None]] = set()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the response; the usage of a shared request is that of its first fact.

        A shared request is cancelled with the last of its facts. Facts of one request that are not
        answered yet fail together.
        """
        if request.prompt_name != SINGLE_PROMPT:
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
        waiting, self._waiting = self._waiting, []
        wanted = [fact for fact in waiting if not fact.response.done()]
        chars = (len(fact.request.messages[-1].text) for fact in wanted)
        for part in batched_by_size(wanted, chars, count=PER_REQUEST, size=MAX_REQUEST_CHARS):
            self._start(part)

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
        """Ask until each of these requests has a response; raise BadTurn if one alone has none."""
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

        An error that ends the run has none, though it was spent: the meter and the account count
        each attempt, and the responses are in the journal for the turn that needs them again.
        """
        for fact in facts:
            if not fact.response.done():
                fact.response.set_exception(_with_usage(error, self._take_usage()))

    async def _found(self, requests: Sequence[ChatRequest]) -> Mapping[int, str]:
        """Return the responses to a shared request by index; to a single one, it is there."""
        try:
            shared = await self.model.complete(combined_request(requests))
        except BadTurn as error:
            self.usage += error.usage
            raise
        self.usage += shared.usage
        try:
            found = responses_by_fact(shared.text, len(requests))
        except ValueError as error:
            reason = retry.describe_invalid(error)
            raise self._bad_turn(f"returned an invalid response: {reason}") from error
        if len(requests) == 1 and not found:
            raise self._bad_turn("returned no answer about a fact")
        return found

    def _take_usage(self) -> Usage:
        """Return the usage once, and then none."""
        usage, self.usage = self.usage, Usage()
        return usage

    def _bad_turn(self, problem: str) -> BadTurn:
        message = f"model `{self.model.name}` {problem} (`{PROMPT}`)"
        return BadTurn(message, problem=problem)


def _with_usage(error: Exception, usage: Usage) -> Exception:
    """Return an equal error of one fact of a request, whose usage counts once."""
    if not isinstance(error, TurnetlError):
        return error
    equal = equal_error(error)
    if isinstance(equal, BadTurn):
        equal.usage = usage
    return equal


SINGLE_PROMPT = "dedupe_edges.resolve_edge"
PROMPT = "dedupe_edges.resolve_edges"
PER_REQUEST = 8
"""Facts of a request."""
MAX_REQUEST_CHARS = 24_000
"""Of the facts of a request with their candidates; a single fact may have more."""
_ID_STEP = 11
"""Ids of questions are multiples of it: neither a count from 0 or 1 nor an id that is one too high
is the id of another question, so that an answer belongs to the fact that it is about."""
_QUESTION = re.compile(r'^<QUESTION id="(\d+)">$', re.MULTILINE)
_TASK = """
# SEVERAL NEW FACTS

There are one or more questions, each with its own NEW FACT, EXISTING FACTS and FACT INVALIDATION
CANDIDATES. Answer each question by itself with the rules above, as if it were the only one: the
facts of another question are no candidates, and idx values are those of the lists of the question.
Return exactly one entry per question, with its id, also if both of its lists are empty.
"""


# The docstrings and the descriptions are part of the schema that is sent.
class FactResolution(BaseModel):
    """The answer to one question."""

    id: int = Field(description="The id of the question.")
    duplicate_facts: list[int] = Field(
        description="idx values of EXISTING FACTS that the NEW FACT repeats; empty if none."
    )
    contradicted_facts: list[int] = Field(
        description="idx values of either list that the NEW FACT contradicts; empty if none."
    )


class FactResolutions(BaseModel):
    """The answers to all questions."""

    fact_resolutions: list[FactResolution]


def combined_request(requests: Sequence[ChatRequest]) -> ChatRequest:
    """Return one request for all; the instructions of the first one are those of each."""
    *instructions, last = requests[0].messages[:-1]
    questions = (
        f'<QUESTION id="{number}">\n{request.messages[-1].text}\n</QUESTION>'
        for number, request in zip(question_ids(len(requests)), requests, strict=True)
    )
    return replace(
        requests[0],
        prompt_name=PROMPT,
        messages=(
            *instructions,
            ChatMessage(last.role, f"{last.text}\n{_TASK}"),
            ChatMessage(requests[0].messages[-1].role, "\n\n".join(questions)),
        ),
        schema=response_schema(FactResolutions),
    )


def question_ids(count: int) -> Sequence[int]:
    return range(_ID_STEP, _ID_STEP * count + 1, _ID_STEP)


def fact_numbers(request: ChatRequest) -> Sequence[int]:
    # The delimiters occur nowhere else: texts are escaped.
    return [int(found) for found in _QUESTION.findall(request.messages[-1].text)]


def no_other_fact(request: ChatRequest) -> str:
    """Return the response that no fact of the request repeats or contradicts another one."""
    answers = [
        FactResolution(id=number, duplicate_facts=[], contradicted_facts=[])
        for number in fact_numbers(request)
    ]
    return FactResolutions(fact_resolutions=answers).model_dump_json()


def responses_by_fact(text: str, count: int) -> Mapping[int, str]:
    """Return the response about each fact as Graphiti reads it, by the fact's number from 0.

    Unanswered questions are missing. All are, if one of the ids is not that of a question, or if
    two answers have one id: an answer then belongs to no certain fact. Of a single question the
    first answer counts, whatever its id. ValueError: the text does not match the schema.
    """
    answers = FactResolutions.model_validate(retry.parse_object(text)).fact_resolutions
    if count == 1:
        return dict(enumerate(map(_as_graphiti_reads, answers[:1])))
    facts = {number: fact for fact, number in enumerate(question_ids(count))}
    found: dict[int, str] = {}
    for one in answers:
        response = _as_graphiti_reads(one)
        if one.id not in facts or found.setdefault(facts[one.id], response) != response:
            return {}
    return found


def _as_graphiti_reads(resolution: FactResolution) -> str:
    return resolution.model_dump_json(exclude={"id"})
