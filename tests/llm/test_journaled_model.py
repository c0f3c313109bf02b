"""A model with a journal."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.fakes.models import FakeModel
from tests.llm.journal_fixtures import NAME, chat_request, chat_response, clock, fake_model, locked
from turnetl.base.errors import BadTurn, ModelBusy, TooLong
from turnetl.base.model import Usage
from turnetl.llm.chat import ChatRequest, ResponseSchema
from turnetl.llm.journal import Journal, JournaledModel, request_key


class NamesResponse(BaseModel):
    names: list[str]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(tmp_path / "journal.sqlite", clock=clock)) as opened:
        yield opened


async def test_a_request_is_sent_once_and_its_first_cost_is_returned_again(
    journal: Journal,
) -> None:
    model = fake_model()
    journaled = JournaledModel(model, journal)
    first = await journaled.complete(chat_request())
    second = await journaled.complete(chat_request())
    assert second == first
    assert (len(model.requests), journal.hits) == (1, 1)


async def test_a_response_is_stored_before_it_is_used(journal: Journal) -> None:
    await JournaledModel(fake_model(), journal).complete(chat_request())
    with closing(Journal(journal.path, clock=clock)) as reopened:
        assert reopened.get(request_key(NAME, chat_request())) is not None


async def test_another_model_has_its_own_responses(journal: Journal) -> None:
    small, large = fake_model(), fake_model(name="openai/large")
    await JournaledModel(small, journal).complete(chat_request())
    await JournaledModel(large, journal).complete(chat_request())
    assert (len(small.requests), len(large.requests)) == (1, 1)


async def test_another_effort_has_its_own_responses(journal: Journal) -> None:
    model = fake_model()
    for effort in ("low", "high", "low"):
        await JournaledModel(model, journal, parameters=effort).complete(chat_request())
    assert len(model.requests) == 2


async def test_it_has_the_models_name_and_closes_it(journal: Journal) -> None:
    model = fake_model()
    journaled = JournaledModel(model, journal)
    assert journaled.name == model.name
    await journaled.close()
    assert model.closed


async def test_equal_concurrent_requests_share_one_call(journal: Journal) -> None:
    model = fake_model(gate=asyncio.Event())
    journaled = JournaledModel(model, journal)
    callers = [asyncio.create_task(journaled.complete(chat_request())) for _ in range(5)]
    await model.arrived.acquire()
    gate(model).set()
    answers = await asyncio.gather(*callers)
    assert len(model.requests) == 1
    assert len({response.text for response in answers}) == 1


async def test_different_requests_are_in_flight_together(journal: Journal) -> None:
    model = fake_model(gate=asyncio.Event())
    journaled = JournaledModel(model, journal)
    callers = [
        asyncio.create_task(journaled.complete(chat_request(str(number)))) for number in range(5)
    ]
    for _ in callers:
        await model.arrived.acquire()
    gate(model).set()
    await asyncio.gather(*callers)
    assert model.max_in_flight == 5


async def test_the_second_caller_gets_the_response_if_the_first_is_cancelled(
    journal: Journal,
) -> None:
    model = fake_model(gate=asyncio.Event())
    journaled = JournaledModel(model, journal)
    first = asyncio.create_task(journaled.complete(chat_request()))
    await model.arrived.acquire()
    second = asyncio.create_task(journaled.complete(chat_request()))
    await asyncio.sleep(0.01)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    gate(model).set()
    assert (await second).text == chat_response('{"to": 2}').text
    assert len(model.requests) == 1


async def test_the_second_caller_may_be_cancelled(journal: Journal) -> None:
    model = fake_model(gate=asyncio.Event())
    journaled = JournaledModel(model, journal)
    first = asyncio.create_task(journaled.complete(chat_request()))
    await model.arrived.acquire()
    second = asyncio.create_task(journaled.complete(chat_request()))
    await asyncio.sleep(0.01)
    second.cancel()
    gate(model).set()
    assert (await first).text == chat_response('{"to": 2}').text
    assert len(model.requests) == 1


async def test_the_response_of_a_call_without_callers_is_stored(journal: Journal) -> None:
    model = fake_model(gate=asyncio.Event())
    journaled = JournaledModel(model, journal)
    await abandon(journaled, model)
    gate(model).set()
    await journaled.close()
    await journaled.complete(chat_request())
    assert len(model.requests) == 1


async def test_the_next_equal_request_shares_a_call_without_callers(journal: Journal) -> None:
    model = fake_model(gate=asyncio.Event())
    journaled = JournaledModel(model, journal)
    await abandon(journaled, model)
    second = asyncio.create_task(journaled.complete(chat_request()))
    await asyncio.sleep(0.01)
    gate(model).set()
    assert (await second).text == chat_response('{"to": 2}').text
    assert len(model.requests) == 1


async def test_a_call_that_was_not_sent_yet_ends_with_its_last_caller(journal: Journal) -> None:
    model = fake_model(gate=asyncio.Event())
    journaled = JournaledModel(model, journal, is_sent=lambda _: False)
    callers = [asyncio.create_task(journaled.complete(chat_request())) for _ in range(2)]
    await model.arrived.acquire()
    for caller, ended in zip(callers, (0, 1), strict=True):
        caller.cancel()
        await asyncio.sleep(0.01)
        assert model.cancelled == ended
    gate(model).set()
    assert (await journaled.complete(chat_request())).text == chat_response('{"to": 2}').text
    assert len(model.requests) == 2


async def test_a_new_caller_does_not_join_a_call_that_ends(journal: Journal) -> None:
    model = fake_model(gate=asyncio.Event())
    journaled = JournaledModel(model, journal, is_sent=lambda _: False)
    first = asyncio.create_task(journaled.complete(chat_request()))
    await model.arrived.acquire()
    first.cancel()
    await asyncio.sleep(0)
    second = asyncio.create_task(journaled.complete(chat_request()))
    await model.arrived.acquire()
    gate(model).set()
    assert (await second).text == chat_response('{"to": 2}').text


async def test_a_call_that_ends_before_it_is_sent_leaves_no_claim_to_other_processes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.sqlite"
    with (
        closing(Journal(path, clock=clock, owner="one")) as one,
        closing(Journal(path, clock=clock, owner="other")) as other,
    ):
        model = fake_model(gate=asyncio.Event())
        journaled = JournaledModel(model, one, is_sent=lambda _: False)
        for rounds in range(80):
            request = chat_request(str(rounds))
            caller = asyncio.create_task(journaled.complete(request))
            for _ in range(rounds):
                await asyncio.sleep(0)
            caller.cancel()
            with pytest.raises(asyncio.CancelledError):
                await caller
            for _ in range(10):
                await asyncio.sleep(0)
            key = request_key(model.name, request)
            await one.claim("another")  # After what was asked of the journal before.
            assert await other.claim(key)
        await journaled.close()


async def test_closing_leaves_no_open_call(journal: Journal) -> None:
    model = fake_model(gate=asyncio.Event())
    journaled = JournaledModel(model, journal, grace_period=0.01)
    before = asyncio.all_tasks()
    await abandon(journaled, model)
    await journaled.close()
    assert asyncio.all_tasks() == before
    assert (model.cancelled, model.closed) == (1, 1)


async def test_a_cancelled_close_leaves_no_open_call(
    journal: Journal,
) -> None:
    model = fake_model(gate=asyncio.Event())
    journaled = JournaledModel(model, journal)
    before = asyncio.all_tasks()
    await abandon(journaled, model)
    closing_task = asyncio.create_task(journaled.close())
    await asyncio.sleep(0)
    closing_task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing_task
    assert asyncio.all_tasks() == before
    assert (model.cancelled, model.closed) == (1, 1)


async def test_closing_logs_that_it_waits(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    model = fake_model(gate=asyncio.Event())
    journaled = JournaledModel(model, journal, grace_period=0.01)
    await abandon(journaled, model)
    await journaled.close()
    assert "waiting up to 0.01 s for responses that are already paid for: 1" in caplog.text


async def test_a_failure_without_callers_raises_no_warning(journal: Journal) -> None:
    model = fake_model(BadTurn("no"), gate=asyncio.Event())
    journaled = JournaledModel(model, journal)
    await abandon(journaled, model)
    gate(model).set()
    await journaled.close()  # pytest turns asyncio's warning into a failure


async def test_an_error_is_not_stored(journal: Journal) -> None:
    model = fake_model(ModelBusy("later"), BadTurn("no"))
    journaled = JournaledModel(model, journal)
    with pytest.raises(ModelBusy):
        await journaled.complete(chat_request())
    with pytest.raises(BadTurn):
        await journaled.complete(chat_request())
    await journaled.complete(chat_request())
    assert len(model.requests) == 3


async def test_all_callers_of_a_shared_call_get_its_error(journal: Journal) -> None:
    model = fake_model(BadTurn("no"), gate=asyncio.Event())
    journaled = JournaledModel(model, journal)
    callers = [asyncio.create_task(journaled.complete(chat_request())) for _ in range(3)]
    await model.arrived.acquire()
    gate(model).set()
    errors = await asyncio.gather(*callers, return_exceptions=True)
    assert [str(error) for error in errors] == ["no", "no", "no"]
    assert len(model.requests) == 1


@pytest.mark.parametrize("defect", [{"truncated": True}, {"refused": True}])
async def test_an_incomplete_response_is_returned_and_not_stored(
    journal: Journal, defect: dict[str, bool]
) -> None:
    model = fake_model(replace(chat_response(), **defect))  # type: ignore[arg-type]
    journaled = JournaledModel(model, journal)
    assert await journaled.complete(chat_request()) == replace(chat_response(), **defect)  # type: ignore[arg-type]
    await journaled.complete(chat_request())
    assert len(model.requests) == 2


async def test_a_stored_response_that_is_no_longer_valid_is_replaced(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    request = replace(
        chat_request(), schema=ResponseSchema("Form", {"type": "object"}, NamesResponse)
    )
    journal.put(request_key(NAME, request), request, NAME, chat_response('{"names": [1]}'))
    model = fake_model(chat_response('{"names": []}'))
    journaled = JournaledModel(model, journal)
    assert (await journaled.complete(request)).text == '{"names": []}'
    await journaled.complete(request)
    assert (len(model.requests), journal.hits) == (1, 1)
    assert "it is requested again" in caplog.text
    with closing(Journal(journal.path, clock=clock)) as reopened:
        stored = reopened.get(request_key(NAME, request))
    assert stored is not None
    assert stored.text == '{"names": []}'


async def test_a_truncated_response_is_known_to_the_next_run(journal: Journal) -> None:
    usage = Usage(calls=2, prompt_tokens=100, completion_tokens=16_384, cost=None, seconds=9.5)
    model = fake_model(TooLong("cut", usage))
    with pytest.raises(TooLong, match="cut"):
        await JournaledModel(model, journal).complete(chat_request())
    with closing(Journal(journal.path, clock=clock)) as reopened:
        for _ in range(2):
            with pytest.raises(TooLong, match="according to the journal") as second:
                await JournaledModel(model, reopened).complete(chat_request())
            assert second.value.usage == usage
        assert reopened.hits == 2
    assert len(model.requests) == 1


async def test_a_rejected_request_costs_nothing_and_is_not_stored(
    journal: Journal,
) -> None:
    model = fake_model(TooLong("no room"))
    with pytest.raises(TooLong):
        await JournaledModel(model, journal).complete(chat_request())
    await JournaledModel(model, journal).complete(chat_request())
    assert len(model.requests) == 2


async def test_a_response_is_stored_even_if_its_call_is_cancelled_during_the_write(
    journal: Journal,
) -> None:
    model = fake_model(gate=asyncio.Event())
    journaled = JournaledModel(model, journal, grace_period=0)
    slow = asyncio.create_task(journaled.complete(chat_request("slow")))
    last = asyncio.create_task(journaled.complete(chat_request("last")))
    for _ in range(2):
        await model.arrived.acquire()
    with locked(journal.path) as connection:
        gate(model).set()
        await asyncio.sleep(0.01)
        await journaled.close()
        connection.execute("ROLLBACK")
    await asyncio.gather(slow, last, return_exceptions=True)
    journal.close()
    with closing(Journal(journal.path, clock=clock)) as reopened:
        assert reopened.stats().total.entries == 2


def gate(model: FakeModel) -> asyncio.Event:
    assert model.gate is not None
    return model.gate


async def abandon(
    journaled: JournaledModel, model: FakeModel, request: ChatRequest | None = None
) -> None:
    """Send a request and cancel its caller while it is in flight."""
    caller = asyncio.create_task(journaled.complete(request or chat_request()))
    await model.arrived.acquire()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
