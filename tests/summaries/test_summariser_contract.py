"""The contract of every summariser."""

import pytest

from tests.summaries.summariser_inputs import given, model_of_summaries
from turnetl.base.model import Usage
from turnetl.summaries.model_summariser import MAX_UNASKED, ModelSummariser
from turnetl.summaries.port import Summarised, Summariser
from turnetl.summaries.rule_summary import MAX_CHARS, RuleSummariser

LIMITS = {"rules": MAX_CHARS, "model": MAX_UNASKED, "model for everything": MAX_CHARS}
"""Characters of a summary, by the name of the summariser."""


@pytest.fixture(params=LIMITS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def summariser(name: str) -> Summariser:
    if name == "rules":
        return RuleSummariser()
    limit = 0 if name == "model for everything" else MAX_UNASKED
    return ModelSummariser(model_of_summaries(), max_unasked=limit)


async def test_no_input_gives_no_summary(summariser: Summariser) -> None:
    assert await summariser.summarise(()) == Summarised({})


async def test_each_entity_with_facts_gets_a_summary_of_bounded_length(
    summariser: Summariser, name: str
) -> None:
    inputs = [given("a", 1), given("b", 40, "It reads nothing."), given("c", 10_000)]
    texts = (await summariser.summarise(inputs)).texts
    assert sorted(texts) == ["a", "b", "c"]
    assert all(0 < len(text) <= LIMITS[name] for text in texts.values())
    assert name == "model for everything" or "format 0" in texts["a"]


async def test_the_same_inputs_give_the_same_summaries(summariser: Summariser) -> None:
    inputs = [given("a", 3), given("b", 5, "before")]
    assert await summariser.summarise(inputs) == await summariser.summarise(inputs)


async def test_an_entity_that_never_had_a_fact_has_no_summary(summariser: Summariser) -> None:
    assert (await summariser.summarise([given("a", 0)])).texts == {}


async def test_a_summary_of_facts_that_all_ended_is_replaced(summariser: Summariser) -> None:
    texts = (await summariser.summarise([given("a", 0, "It reads XML.", ended=True)])).texts
    assert texts["a"] not in ("", "It reads XML.")


async def test_an_estimate_covers_the_requests_and_sends_none(summariser: Summariser) -> None:
    inputs = [given("a", 3), given("b", 400), given("c", 10_000)]
    estimate = summariser.estimate(inputs)
    used = (await summariser.summarise(inputs)).usage
    assert estimate.calls == used.calls
    assert summariser.estimate(()) == Usage()
