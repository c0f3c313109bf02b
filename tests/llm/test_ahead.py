"""Requests that are sent ahead: what is guessed, what is sent once, what was sent for nothing."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.models import FakeModel, scripted
from tests.llm.journal_fixtures import clock
from turnetl.base.errors import BadTurn, ModelBusy, RunStopped
from turnetl.base.model import Usage
from turnetl.llm.ahead import AheadModel, GivenUp, TurnAhead
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter, Slots
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap

FIRST, SECOND = (
    ChatRequest("dedupe", (ChatMessage("user", text),), None, 100) for text in ("first", "second")
)
RESPONSE = ChatResponse('{"is": "new"}', 90, 10, truncated=False)
OTHER = ChatResponse('{"is": "old"}', 90, 10, truncated=False)


class AlwaysNew:
    """Guesses that everything is new, and nothing for other prompts than `dedupe`."""

    def guess(self, request: ChatRequest) -> str | None:
        return '{"is": "new"}' if request.prompt_name == "dedupe" else None

    def agrees(self, request: ChatRequest, guess: str, text: str) -> bool:
        assert request.prompt_name == "dedupe"
        return bool(json.loads(guess) == json.loads(text))


@dataclass
class Ahead:
    """A model whose responses wait for the gate, and a turn that runs ahead."""

    inner: FakeModel
    model: AheadModel
    turn: TurnAhead
    wrong: list[TurnAhead]

    async def attempt(self, *requests: ChatRequest) -> list[str]:
        with self.model.attempt(self.turn):
            return [(await self.model.complete(request)).text for request in requests]

    async def release_responses(self) -> None:
        assert self.inner.gate is not None
        self.inner.gate.set()
        await asyncio.sleep(0.01)


def ahead(
    *responses: ChatResponse | Exception, is_sent: Callable[[object], bool] = lambda _: True
) -> Ahead:
    inner = scripted(responses or [RESPONSE], gate=asyncio.Event())
    wrong: list[TurnAhead] = []
    model = AheadModel(inner, AlwaysNew(), is_sent=is_sent)
    return Ahead(inner, model, TurnAhead(wrong.append), wrong)


async def test_a_guess_is_returned_until_the_response_has_arrived() -> None:
    given = ahead(OTHER)
    assert await given.attempt(FIRST) == ['{"is": "new"}']
    await given.release_responses()
    assert await given.attempt(FIRST) == ['{"is": "old"}']
    assert len(given.inner.requests) == 1


async def test_a_guess_costs_nothing_and_a_response_costs_its_tokens_once() -> None:
    given = ahead()
    with given.model.attempt(given.turn):
        guess = await given.model.complete(FIRST)
    await given.release_responses()
    response = await given.model.complete(FIRST)
    assert guess.usage == Usage()
    assert response == RESPONSE
    assert len(given.inner.requests) == 1
    given.model.release(given.turn)
    assert (given.model.used, given.model.unused) == (RESPONSE.usage, Usage())


async def test_a_request_without_a_guess_waits_for_its_response() -> None:
    given = ahead()
    other = ChatRequest("attributes", FIRST.messages, None, 100)
    waiting = asyncio.create_task(given.attempt(other))
    await given.inner.arrived.acquire()
    assert not waiting.done()
    await given.release_responses()
    assert await waiting == [RESPONSE.text]


async def test_only_a_response_with_another_effect_shows_a_wrong_guess() -> None:
    same = ChatResponse('{ "is" : "new" }', 90, 10, truncated=False)
    for response, is_wrong in ((same, False), (OTHER, True), (BadTurn("no"), True)):
        given = ahead(response)
        await given.attempt(FIRST)
        await given.release_responses()
        assert given.wrong == [given.turn] * is_wrong


async def test_a_guess_of_an_earlier_attempt_is_not_wrong_any_more() -> None:
    given = ahead(OTHER)
    await given.attempt(FIRST)
    await given.attempt(SECOND)
    given.inner.respond = scripted([RESPONSE]).respond
    await given.release_responses()
    assert given.wrong == []


async def test_the_turn_that_commits_waits_for_a_request_that_ran_ahead() -> None:
    given = ahead()
    await given.attempt(FIRST)
    committing = asyncio.create_task(given.model.complete(FIRST))
    await asyncio.sleep(0.01)
    assert not committing.done()
    await given.release_responses()
    assert await committing == RESPONSE
    assert len(given.inner.requests) == 1


@pytest.mark.parametrize("error", [ModelBusy("later"), RunStopped("used up")])
async def test_what_failed_ahead_is_sent_again_by_the_turn_that_commits(error: Exception) -> None:
    given = ahead(error, RESPONSE)
    await given.attempt(FIRST)
    await given.release_responses()
    assert await given.model.complete(FIRST) == RESPONSE


async def test_a_request_that_the_model_rejects_is_not_sent_again() -> None:
    given = ahead(BadTurn("it declines"), RESPONSE)
    await given.attempt(FIRST)
    await given.release_responses()
    with pytest.raises(BadTurn, match="it declines"):
        await given.model.complete(FIRST)


async def test_tokens_of_responses_that_no_turn_needed_are_counted() -> None:
    given = ahead()
    await given.attempt(FIRST, SECOND)
    await given.release_responses()
    await given.model.complete(SECOND)
    given.model.release(given.turn)
    await asyncio.sleep(0)
    assert (given.model.used, given.model.unused) == (RESPONSE.usage, RESPONSE.usage)
    assert given.model.unused_share == 0.5


async def test_what_two_turns_sent_is_given_up_with_the_second() -> None:
    given = ahead(is_sent=lambda _: False)
    other = TurnAhead(given.wrong.append)
    await given.attempt(FIRST)
    with given.model.attempt(other):
        await given.model.complete(FIRST)
    given.model.release(given.turn)
    await asyncio.sleep(0)
    assert given.inner.cancelled == 0
    given.model.release(other)
    await asyncio.sleep(0.01)
    assert given.inner.cancelled == 1


@pytest.mark.parametrize("is_sent", [True, False])
async def test_a_request_that_a_later_attempt_does_not_need_ends_if_it_is_not_sent_yet(
    *, is_sent: bool
) -> None:
    given = ahead(is_sent=lambda _: is_sent)
    await given.attempt(FIRST)
    await given.inner.arrived.acquire()
    await given.attempt(SECOND)
    given.model.keep_asked(given.turn)
    await asyncio.sleep(0.01)
    assert given.inner.cancelled == (not is_sent)
    await given.release_responses()
    assert given.model.unused == (RESPONSE.usage if is_sent else Usage())


@pytest.fixture
def stacked(tmp_path: Path) -> Iterator[Ahead]:
    """A model under a journal and a limiter with one slot, as in a run."""
    with closing(Journal(tmp_path / "journal.sqlite", clock=clock)) as journal:
        yield _stacked(journal)


def _stacked(journal: Journal) -> Ahead:
    inner, wrong = scripted([RESPONSE], gate=asyncio.Event()), list[TurnAhead]()
    limiter = Limiter(Slots(1))
    stack = ModelStack(journal, None, RetryPolicy(), limiter, None)
    model = AheadModel(wrap(inner, stack), AlwaysNew(), is_sent=limiter.has_sent)
    return Ahead(inner, model, TurnAhead(wrong.append), wrong)


async def test_with_a_journal_what_was_sent_in_vain_is_counted_and_what_waits_is_not_sent(
    stacked: Ahead,
) -> None:
    await stacked.attempt(FIRST)
    await stacked.inner.arrived.acquire()
    await stacked.attempt(SECOND)
    await asyncio.sleep(0.05)
    stacked.model.release(stacked.turn)
    await stacked.release_responses()
    await stacked.model.close()
    assert stacked.inner.requests == [FIRST]
    assert (stacked.inner.cancelled, stacked.model.unused) == (0, RESPONSE.usage)
    assert stacked.model.unused_tokens == 100


@pytest.mark.parametrize("has_arrived", [True, False])
async def test_what_was_given_up_and_is_needed_after_all_is_sent_once_and_not_unused(
    stacked: Ahead, *, has_arrived: bool
) -> None:
    await stacked.attempt(FIRST)
    await stacked.inner.arrived.acquire()
    stacked.model.release(stacked.turn)
    if has_arrived:
        await stacked.release_responses()
        await asyncio.sleep(0.05)
        assert stacked.model.unused_tokens == 100
    committing = asyncio.create_task(stacked.model.complete(FIRST))
    await asyncio.sleep(0.01)
    await stacked.release_responses()
    assert (await committing).text == RESPONSE.text
    await stacked.model.close()
    assert stacked.inner.requests == [FIRST]
    assert (stacked.model.unused, stacked.model.unused_tokens) == (Usage(), 0)


async def test_a_later_attempt_takes_back_what_an_earlier_one_gave_up(stacked: Ahead) -> None:
    await stacked.attempt(FIRST)
    await stacked.inner.arrived.acquire()
    stacked.model.release(stacked.turn)
    await stacked.attempt(FIRST)
    await stacked.release_responses()
    await asyncio.sleep(0.05)
    assert stacked.model.unused == Usage()
    stacked.model.release(stacked.turn)
    await asyncio.sleep(0)
    await stacked.model.close()
    assert (stacked.inner.requests, stacked.model.unused) == ([FIRST], RESPONSE.usage)


async def test_an_attempt_that_is_over_sends_nothing() -> None:
    given = ahead()
    started, over = asyncio.Event(), asyncio.Event()

    async def late() -> None:
        with given.model.attempt(given.turn):
            started.set()
            await over.wait()
            await given.model.complete(FIRST)

    attempt = asyncio.create_task(late())
    await started.wait()
    await given.attempt(SECOND)
    over.set()
    with pytest.raises(GivenUp):
        await attempt
    assert given.inner.requests == [SECOND]


async def test_closing_leaves_no_open_request() -> None:
    given, before = ahead(), asyncio.all_tasks()
    await given.attempt(FIRST, SECOND)
    given.model.release(given.turn)
    await given.attempt(FIRST)
    await given.model.close()
    assert asyncio.all_tasks() == before
    assert given.inner.closed == 1
