"""A failed request is repeated with fewer facts, and its usage is counted once."""

import asyncio
import copyreg
import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tblib import pickling_support

from tests.extraction.canned_model import CannedModel, ResponseRule
from tests.extraction.fact_requests import NO_OTHER, about, answer_all, ask_together, outcomes
from turnetl.base.errors import BadTurn, BudgetExhausted, ModelBusy, RunStopped, TooLong
from turnetl.base.model import Usage
from turnetl.extraction.llm.fact_batches import FactBatches, fact_numbers
from turnetl.llm.budget import Budget
from turnetl.llm.chat import ChatRequest, ChatResponse
from turnetl.llm.costs import Account, charged_to
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter, Slots
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Prices
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap

NOW = datetime(2026, 3, 1, tzinfo=UTC)


async def test_facts_that_do_not_fit_together_are_sent_in_halves() -> None:
    def two_at_most(request: ChatRequest) -> dict[str, Any]:
        if len(fact_numbers(request)) > 2:
            raise TooLong("too long", Usage(calls=1, prompt_tokens=7))
        return answer_all(request)

    responses, model = await ask_together(two_at_most, [about(str(n)) for n in range(5)])
    assert [len(fact_numbers(request)) for request in model.requests] == [5, 2, 3, 1, 2]
    used = sum((response.usage for response in responses), Usage())
    assert (used.calls, used.prompt_tokens) == (5, 7 + 7 + 300)


async def test_one_fact_that_does_not_fit_fails_all_of_its_request() -> None:
    def none_fits(_: ChatRequest) -> str:
        raise TooLong("too long", Usage(calls=1))

    errors = await outcomes(none_fits, "abc")
    assert all(isinstance(error, TooLong) for error in errors)
    calls = [error.usage.calls for error in errors if isinstance(error, TooLong)]
    assert calls == [2, 0, 0]


async def test_in_a_worker_of_dask_the_usage_of_a_failed_request_is_counted_once_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none_fits(_: ChatRequest) -> str:
        raise TooLong("too long", Usage(calls=1))

    # As Dask does for all classes of errors when it is imported.
    monkeypatch.setitem(copyreg.dispatch_table, TooLong, pickling_support.pickle_exception)
    errors = await outcomes(none_fits, "abc")
    calls = [error.usage.calls for error in errors if isinstance(error, TooLong)]
    assert calls == [2, 0, 0]


async def test_a_turn_that_fails_in_the_end_has_the_usage_of_all_its_requests() -> None:
    def fail_second_half(request: ChatRequest) -> dict[str, Any]:
        if len(fact_numbers(request)) > 1:
            raise TooLong("too long", Usage(calls=1, prompt_tokens=7))
        if "second" in request.messages[1].text:
            raise BadTurn("declined", Usage(calls=1, prompt_tokens=5))
        return answer_all(request)

    first, other = await outcomes(fail_second_half, ("first", "second"))
    assert isinstance(first, ChatResponse)
    assert isinstance(other, BadTurn)
    assert (first.usage.calls, first.usage.prompt_tokens) == (3, 7 + 100 + 5)
    assert other.usage == Usage()


@pytest.mark.parametrize("error", [ModelBusy("busy"), BudgetExhausted("used up")])
async def test_facts_that_are_answered_before_an_error_without_usage_keep_what_they_cost(
    error: ModelBusy | BudgetExhausted,
) -> None:
    def answer_last(request: ChatRequest) -> dict[str, Any]:
        if len(fact_numbers(request)) < 3:
            raise error
        return {"fact_resolutions": [{"id": fact_numbers(request)[2], **NO_OTHER}]}

    *failed, last = await outcomes(answer_last, "abc")
    assert [(type(one), str(one)) for one in failed] == [(type(error), str(error))] * 2
    assert isinstance(last, ChatResponse)
    assert (last.usage.calls, last.usage.prompt_tokens) == (1, 100)


async def run_of_facts(
    rule: ResponseRule, path: Path, spent: Account
) -> tuple[list[ChatResponse | BaseException], Meter]:
    """Ask about three facts together, in a run with a journal and a budget."""
    meter, prices = Meter(Prices()), Prices()
    budget = Budget(1_000_000, None, meter, prices)
    limiter = Limiter(Slots(4))
    with closing(Journal(path, clock=lambda: NOW)) as journal, charged_to(spent):
        stack = ModelStack(journal, budget, RetryPolicy(attempts=1), limiter, meter)
        batches = FactBatches(wrap(CannedModel(rule), stack))
        asked = [batches.complete(about(fact)) for fact in "abc"]
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        await batches.close()
    return outcomes, meter


@pytest.mark.parametrize("error", [ModelBusy("busy"), BudgetExhausted("used"), RunStopped("stop")])
async def test_what_was_paid_before_any_fact_was_answered_is_spent_once_over_both_runs(
    error: ModelBusy | RunStopped, tmp_path: Path
) -> None:
    def answer_no_question(request: ChatRequest) -> dict[str, Any]:
        if len(fact_numbers(request)) < 3:
            raise error
        return {"fact_resolutions": [{"id": 1, **NO_OTHER}]}

    def answer_halves(request: ChatRequest) -> dict[str, Any]:
        assert len(fact_numbers(request)) < 3, "it was paid for before"
        return answer_all(request)

    accounts = [Account(lambda _: None) for _ in range(2)]
    journal = tmp_path / "journal.sqlite"
    failed, first = await run_of_facts(answer_no_question, journal, accounts[0])
    assert {type(one) for one in failed} == {type(error)}
    assert (first.total.prompt_tokens, first.total.completion_tokens) == (100, 10)
    answered, second = await run_of_facts(answer_halves, journal, accounts[1])
    used = [one.usage for one in answered if isinstance(one, ChatResponse)]
    assert second.total.prompt_tokens == 2 * 100
    assert sum(one.prompt_tokens for one in used) == 100 + 2 * 100
    assert [account.spent.tokens for account in accounts] == [110, 2 * 110]


async def test_a_response_that_is_invalid_for_one_fact_is_asked_again_in_halves() -> None:
    def confused_by_bad(request: ChatRequest) -> dict[str, Any] | str:
        asked = len(fact_numbers(request))
        if asked > 2 and "bad" in request.messages[1].text:
            raise BadTurn("invalid", Usage(calls=5, prompt_tokens=7))
        if asked == 2 and "bad" in request.messages[1].text:
            return json.dumps({"fact_resolutions": [{"id": 11, "duplicate_facts": None}]})
        return answer_all(request)

    facts = ["a", "b", "c", "d", "e", "bad", "f", "g"]
    responses, model = await ask_together(confused_by_bad, [about(fact) for fact in facts])
    assert [json.loads(one.text) for one in responses] == [NO_OTHER] * 8
    assert [len(fact_numbers(request)) for request in model.requests] == [8, 4, 4, 2, 1, 1, 2]
    used = sum((response.usage for response in responses), Usage())
    assert (used.calls, used.prompt_tokens) == (5 + 1 + 5 + 4, 7 + 100 + 7 + 400)


@pytest.mark.parametrize("error", [BadTurn("declined", Usage(calls=2)), ModelBusy("busy")])
async def test_the_failure_of_a_request_fails_all_of_its_facts(
    error: BadTurn | ModelBusy,
) -> None:
    def fail(_: ChatRequest) -> str:
        raise error

    raised = await outcomes(fail, "abc")
    assert [(type(one), str(one)) for one in raised] == [(type(error), str(error))] * 3
    # One request about all facts, and one about the first of them alone.
    expected = 2 * 2 if isinstance(error, BadTurn) else 0
    assert sum(one.usage.calls for one in raised if isinstance(one, BadTurn)) == expected


@pytest.mark.parametrize("text", ['{"fact_resolutions": []}', "prose", '{"fact_resolutions": [1]}'])
async def test_a_model_that_answers_nothing_fails_the_turn(text: str) -> None:
    errors = await outcomes(lambda _: text, "abc")
    assert all(isinstance(error, BadTurn) for error in errors)
    assert {error.usage.calls > 0 for error in errors if isinstance(error, BadTurn)} == {
        True,
        False,
    }


async def test_an_unexpected_error_of_the_model_reaches_every_fact() -> None:
    def fail(_: ChatRequest) -> str:
        raise ZeroDivisionError

    errors = await outcomes(fail, "abc")
    assert [type(error) for error in errors] == [ZeroDivisionError] * 3
