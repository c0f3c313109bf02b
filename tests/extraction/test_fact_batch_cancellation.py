"""A cancelled fact does not end the others of its request; no task and no error is left behind."""

import asyncio
import gc
from typing import Any

import pytest

from tests.extraction.canned_model import CannedModel
from tests.extraction.fact_requests import about, answer_all
from turnetl.base.errors import ModelBusy
from turnetl.extraction.llm.fact_batches import PROMPT, FactBatches, fact_numbers
from turnetl.llm.chat import ChatRequest


@pytest.mark.parametrize("cancelled", [0, 1, 2])
@pytest.mark.parametrize("is_sent", [True, False])
async def test_the_facts_beside_a_cancelled_one_get_their_responses_and_the_usage(
    cancelled: int, *, is_sent: bool
) -> None:
    model = CannedModel(answer_all)
    received, answers = asyncio.Event(), asyncio.Event()
    model.received[PROMPT], model.blocked[PROMPT] = received, answers
    batches = FactBatches(model)
    tasks = [asyncio.create_task(batches.complete(about(fact))) for fact in "abc"]
    await (received.wait() if is_sent else asyncio.sleep(0))
    tasks.pop(cancelled).cancel()
    answers.set()
    responses = await asyncio.gather(*tasks)
    assert sum(response.usage.calls for response in responses) == 1
    assert [list(fact_numbers(request)) for request in model.requests] == [
        [11, 22, 33][: 2 + is_sent]
    ]
    await batches.complete(about("a later fact"))
    assert len(model.requests) == 2


@pytest.mark.parametrize("is_sent", [True, False])
@pytest.mark.parametrize("is_closed", [True, False])
async def test_when_all_facts_are_cancelled_or_the_model_is_closed_no_task_is_left(
    *, is_closed: bool, is_sent: bool
) -> None:
    model, before = CannedModel(answer_all), asyncio.all_tasks()
    received = model.received[PROMPT] = asyncio.Event()
    model.blocked[PROMPT] = asyncio.Event()
    batches = FactBatches(model)
    tasks = [asyncio.create_task(batches.complete(about(fact))) for fact in "abc"]
    await (received.wait() if is_sent else asyncio.sleep(0))
    if is_closed:
        await batches.close()
    else:
        for task in tasks:
            task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
    for _ in range(5):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    assert len(model.requests) == is_sent


async def test_an_error_that_nobody_waits_for_any_more_is_not_reported_as_lost() -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    def fail(_: ChatRequest) -> str:
        raise ModelBusy("busy")

    model = CannedModel(fail)
    received, answers = asyncio.Event(), asyncio.Event()
    model.received[PROMPT], model.blocked[PROMPT] = received, answers
    batches = FactBatches(model)
    tasks = [asyncio.create_task(batches.complete(about(fact))) for fact in "abc"]
    await received.wait()
    answers.set()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)
    del tasks
    gc.collect()
    assert reported == []
