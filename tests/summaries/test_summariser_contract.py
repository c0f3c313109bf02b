"""The contract of every summariser."""

from dataclasses import replace

import pytest

from tests.builders import GROUP
from tests.summaries.facts import START, fact, vector
from turnetl.model import Entity
from turnetl.summaries.port import Summarised, Summariser
from turnetl.summaries.rule_summariser import RuleSummariser
from turnetl.summaries.rule_summary import MAX_CHARS
from turnetl.summaries.summary_input import SummaryInput

PARSER = Entity("parser", GROUP, "parser.py", ("File",), "", START)


@pytest.fixture(params=["rules"])
def summariser() -> Summariser:
    return RuleSummariser()


def given(uuid: str, facts: int, previous: str = "", *, ended: bool = False) -> SummaryInput:
    """Return an entity with active facts, and one invalidated one if asked for."""
    active = tuple(
        fact(f"{uuid}-{number}", f"parser.py reads format {number}", vector(number + 1, 1))
        for number in range(facts)
    )
    invalidated = (fact("gone", "reads XML", vector(1, 2), invalid_at=START),) if ended else ()
    entity = replace(PARSER, uuid=uuid, summary=previous)
    return SummaryInput(
        entity, previous, active, frozenset(one.uuid for one in active), invalidated
    )


async def test_no_input_gives_no_summary(summariser: Summariser) -> None:
    assert await summariser.summarise(()) == Summarised({})


async def test_each_entity_with_facts_gets_a_summary_of_bounded_length(
    summariser: Summariser,
) -> None:
    inputs = [given("a", 1), given("b", 40, "It reads nothing."), given("c", 2_000)]
    texts = (await summariser.summarise(inputs)).texts
    assert sorted(texts) == ["a", "b", "c"]
    assert all(0 < len(text) <= MAX_CHARS for text in texts.values())
    assert "format 0" in texts["a"]


async def test_the_same_inputs_give_the_same_summaries(summariser: Summariser) -> None:
    inputs = [given("a", 3), given("b", 5, "before")]
    assert await summariser.summarise(inputs) == await summariser.summarise(inputs)


async def test_an_entity_that_never_had_a_fact_has_no_summary(summariser: Summariser) -> None:
    assert (await summariser.summarise([given("a", 0)])).texts == {}


async def test_a_summary_of_facts_that_all_ended_is_replaced(summariser: Summariser) -> None:
    texts = (await summariser.summarise([given("a", 0, "It reads XML.", ended=True)])).texts
    assert texts["a"] not in ("", "It reads XML.")
