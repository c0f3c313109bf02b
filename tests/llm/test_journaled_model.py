"""A model in front of which a journal stands."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.llm.journal_fixtures import NAME, Counted, answer, clock, locked, request
from turnetl.errors import BadTurn, ModelBusy, TooLong
from turnetl.llm.chat import ChatRequest, ResponseSchema
from turnetl.llm.journal import Journal, JournaledModel, request_key
from turnetl.model import Usage


class Form(BaseModel):
    names: list[str]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(tmp_path / "journal.sqlite", clock=clock)) as opened:
        yield opened


async def test_a_request_is_sent_once_and_its_first_cost_is_returned_again(
    journal: Journal,
) -> None:
    model = Counted()
    asks = JournaledModel(model, journal)
    first = await asks.complete(request())
    again = await asks.complete(request())
    assert not first.from_journal
    assert again == replace(first, from_journal=True)
    assert again.usage == first.usage
    assert (len(model.asked), journal.hits) == (1, 1)


async def test_a_response_is_stored_before_it_is_used(journal: Journal) -> None:
    await JournaledModel(Counted(), journal).complete(request())
    with closing(Journal(journal.path, clock=clock)) as seen:
        assert seen.get(request_key(NAME, request())) is not None


async def test_another_model_has_its_own_responses(journal: Journal) -> None:
    small, large = Counted(), Counted(name="openai/large")
    await JournaledModel(small, journal).complete(request())
    await JournaledModel(large, journal).complete(request())
    assert (len(small.asked), len(large.asked)) == (1, 1)


async def test_another_effort_has_its_own_responses(journal: Journal) -> None:
    model = Counted()
    for effort in ("low", "high", "low"):
        await JournaledModel(model, journal, parameters=effort).complete(request())
    assert len(model.asked) == 2


async def test_it_has_the_models_name_and_closes_it(journal: Journal) -> None:
    model = Counted()
    asks = JournaledModel(model, journal)
    assert asks.name == model.name
    await asks.close()
    assert model.closed


async def test_equal_concurrent_requests_share_one_call(journal: Journal) -> None:
    model = Counted(gate=asyncio.Event())
    asks = JournaledModel(model, journal)
    askers = [asyncio.create_task(asks.complete(request())) for _ in range(5)]
    await model.arrived.acquire()
    gate(model).set()
    answers = await asyncio.gather(*askers)
    assert len(model.asked) == 1
    assert sorted(given.from_journal for given in answers) == [False, True, True, True, True]
    assert len({given.text for given in answers}) == 1


async def test_different_requests_are_in_flight_together(journal: Journal) -> None:
    model = Counted(gate=asyncio.Event())
    asks = JournaledModel(model, journal)
    askers = [asyncio.create_task(asks.complete(request(str(at)))) for at in range(5)]
    for _ in askers:
        await model.arrived.acquire()
    gate(model).set()
    assert not any(given.from_journal for given in await asyncio.gather(*askers))


async def test_the_second_caller_gets_the_response_if_the_first_is_cancelled(
    journal: Journal,
) -> None:
    model = Counted(gate=asyncio.Event())
    asks = JournaledModel(model, journal)
    first = asyncio.create_task(asks.complete(request()))
    await model.arrived.acquire()
    second = asyncio.create_task(asks.complete(request()))
    await asyncio.sleep(0.01)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    gate(model).set()
    assert (await second).text == answer('{"to": 2}').text
    assert len(model.asked) == 1


async def test_the_second_caller_may_be_cancelled(journal: Journal) -> None:
    model = Counted(gate=asyncio.Event())
    asks = JournaledModel(model, journal)
    first = asyncio.create_task(asks.complete(request()))
    await model.arrived.acquire()
    second = asyncio.create_task(asks.complete(request()))
    await asyncio.sleep(0.01)
    second.cancel()
    gate(model).set()
    assert not (await first).from_journal


async def test_the_response_of_a_call_without_callers_is_stored(journal: Journal) -> None:
    model = Counted(gate=asyncio.Event())
    asks = JournaledModel(model, journal)
    await left_alone(asks, model)
    gate(model).set()
    await asks.close()
    assert (await asks.complete(request())).from_journal
    assert len(model.asked) == 1


async def test_the_next_equal_request_shares_a_call_without_callers(journal: Journal) -> None:
    model = Counted(gate=asyncio.Event())
    asks = JournaledModel(model, journal)
    await left_alone(asks, model)
    again = asyncio.create_task(asks.complete(request()))
    await asyncio.sleep(0.01)
    gate(model).set()
    assert (await again).from_journal
    assert len(model.asked) == 1


async def test_closing_leaves_no_open_call(journal: Journal) -> None:
    model = Counted(gate=asyncio.Event())
    asks = JournaledModel(model, journal, grace_period=0.01)
    before = asyncio.all_tasks()
    await left_alone(asks, model)
    await asks.close()
    assert asyncio.all_tasks() == before
    assert (model.broken_off, model.closed) == (1, True)


async def test_a_cancelled_close_leaves_no_open_call(
    journal: Journal,
) -> None:
    model = Counted(gate=asyncio.Event())
    asks = JournaledModel(model, journal)
    before = asyncio.all_tasks()
    await left_alone(asks, model)
    closing_it = asyncio.create_task(asks.close())
    await asyncio.sleep(0)
    closing_it.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing_it
    assert asyncio.all_tasks() == before
    assert (model.broken_off, model.closed) == (1, True)


async def test_closing_logs_that_it_waits(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    model = Counted(gate=asyncio.Event())
    asks = JournaledModel(model, journal, grace_period=0.01)
    await left_alone(asks, model)
    await asks.close()
    assert "waiting up to 0.01 s for responses that are already paid for: 1" in caplog.text


async def test_a_failure_without_callers_raises_no_warning(journal: Journal) -> None:
    model = Counted(gate=asyncio.Event(), fails=[BadTurn("no")])
    asks = JournaledModel(model, journal)
    await left_alone(asks, model)
    gate(model).set()
    await asks.close()  # pytest turns asyncio's complaint into a failure


async def test_an_error_is_not_stored(journal: Journal) -> None:
    model = Counted(fails=[ModelBusy("later"), BadTurn("no")])
    asks = JournaledModel(model, journal)
    with pytest.raises(ModelBusy):
        await asks.complete(request())
    with pytest.raises(BadTurn):
        await asks.complete(request())
    assert not (await asks.complete(request())).from_journal
    assert len(model.asked) == 3


async def test_all_callers_of_a_shared_call_get_its_error(journal: Journal) -> None:
    model = Counted(gate=asyncio.Event(), fails=[BadTurn("no")])
    asks = JournaledModel(model, journal)
    askers = [asyncio.create_task(asks.complete(request())) for _ in range(3)]
    await model.arrived.acquire()
    gate(model).set()
    heard = await asyncio.gather(*askers, return_exceptions=True)
    assert [str(error) for error in heard] == ["no", "no", "no"]
    assert len(model.asked) == 1


@pytest.mark.parametrize("lack", [{"truncated": True}, {"refused": True}])
async def test_an_incomplete_response_is_returned_and_not_stored(
    journal: Journal, lack: dict[str, bool]
) -> None:
    model = Counted(gives=lambda _: replace(answer(), **lack))  # type: ignore[arg-type]
    asks = JournaledModel(model, journal)
    assert await asks.complete(request()) == replace(answer(), **lack)  # type: ignore[arg-type]
    assert not (await asks.complete(request())).from_journal
    assert len(model.asked) == 2


async def test_a_stored_response_that_is_no_longer_valid_is_replaced(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    asked = replace(request(), schema=ResponseSchema("Form", {"type": "object"}, Form))
    journal.put(request_key(NAME, asked), asked, NAME, answer('{"names": [1]}'))
    model = Counted(gives=lambda _: answer('{"names": []}'))
    asks = JournaledModel(model, journal)
    assert (await asks.complete(asked)).text == '{"names": []}'
    assert (await asks.complete(asked)).from_journal
    assert (len(model.asked), journal.hits) == (1, 1)
    assert "it is requested again" in caplog.text
    with closing(Journal(journal.path, clock=clock)) as seen:
        found = seen.get(request_key(NAME, asked))
    assert found is not None
    assert found.text == '{"names": []}'


async def test_a_truncated_response_is_known_to_the_next_run(journal: Journal) -> None:
    spent = Usage(calls=2, prompt_tokens=100, completion_tokens=16_384, cost=None, seconds=9.5)
    model = Counted(fails=[TooLong("cut", spent)])
    with pytest.raises(TooLong, match="cut"):
        await JournaledModel(model, journal).complete(request())
    with closing(Journal(journal.path, clock=clock)) as seen:
        for _ in range(2):
            with pytest.raises(TooLong, match="according to the journal") as again:
                await JournaledModel(model, seen).complete(request())
            assert again.value.usage == spent
        assert seen.hits == 2
    assert len(model.asked) == 1


async def test_a_rejected_request_costs_nothing_and_is_not_stored(
    journal: Journal,
) -> None:
    model = Counted(fails=[TooLong("no room")])
    with pytest.raises(TooLong):
        await JournaledModel(model, journal).complete(request())
    assert not (await JournaledModel(model, journal).complete(request())).from_journal


async def test_a_response_is_stored_even_if_its_call_is_cancelled_during_the_write(
    journal: Journal,
) -> None:
    model = Counted()
    asks = JournaledModel(model, journal, grace_period=0)
    await asks.complete(request("to open it"))
    with locked(journal.path) as other:
        slow = asyncio.create_task(asks.complete(request("slow")))
        last = asyncio.create_task(asks.complete(request("last")))
        for _ in range(3):
            await model.arrived.acquire()
        await asyncio.sleep(0.01)
        await asks.close()
        other.execute("ROLLBACK")
    await asyncio.gather(slow, last, return_exceptions=True)
    journal.close()
    with closing(Journal(journal.path, clock=clock)) as seen:
        assert seen.stats().total.entries == 3


def gate(model: Counted) -> asyncio.Event:
    assert model.gate is not None
    return model.gate


async def left_alone(
    asks: JournaledModel, model: Counted, asked: ChatRequest | None = None
) -> None:
    """Ask, and go away while the request is in the air."""
    asker = asyncio.create_task(asks.complete(asked or request()))
    await model.arrived.acquire()
    asker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asker
