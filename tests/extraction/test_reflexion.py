"""Asking what was missed, and reading again with the answer as a hint."""

import json
from typing import Any

import pytest

from tests.extraction import sample_turns
from tests.extraction.canned_model import Canned, Say, shown
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.extraction.config import PreprocessingMode
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.prompt_config import fixed_prompt
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.llm.chat import ChatRequest

TOLD = "Look for what broke."
NODES, EDGES = "extract_nodes.extract_message", "extract_edges.edge"
MISSED_THINGS, MISSED_FACTS = "reflexion.entities", "reflexion.facts"


def thing(name: str, kind: int = 0) -> dict[str, Any]:
    return {"name": name, "entity_type_id": kind, "episode_indices": [0]}


def fact(source: str, text: str, target: str, kind: str = "USES") -> dict[str, Any]:
    ends = {"source_entity_name": source, "target_entity_name": target}
    return {**ends, "relation_type": kind, "fact": text, "episode_indices": [0]}


def scripted(**answers: list[dict[str, Any]]) -> Say:
    """Answer each kind of question with the next of its answers."""
    by_prompt = {
        NODES: answers.get("nodes", []),
        EDGES: answers.get("edges", []),
        MISSED_THINGS: answers.get("missed_things", []),
        MISSED_FACTS: answers.get("missed_facts", []),
    }

    def say(question: ChatRequest) -> str | None:
        left = by_prompt.get(question.prompt_name, [])
        if not left and question.prompt_name in {MISSED_THINGS, MISSED_FACTS}:
            return json.dumps(missed())
        return json.dumps(left.pop(0)) if left else None

    return say


def entities(*things: dict[str, Any]) -> dict[str, Any]:
    return {"extracted_entities": list(things)}


def missed(*names: str) -> dict[str, Any]:
    return {"missed_entities": list(names), "missed_facts": list(names)}


async def read(model: Canned, *, passes: int, mode: PreprocessingMode = "prepend") -> MirrorGroup:
    group = sample_turns.empty_group()
    asks = LlmExtractor(
        model, ToyEmbedder(), prompts=fixed_prompt(TOLD, mode=mode, reflexion=passes)
    )
    await sample_turns.take_in(asks, sample_turns.episodes()[:1], group, ToyEmbedder())
    return group


def names(group: MirrorGroup) -> set[str]:
    return {entity.name for entity in group.entities}


async def test_without_a_pass_nothing_is_asked_about_what_was_missed() -> None:
    model = Canned()
    await read(model, passes=0)
    assert [question.prompt_name for question in model.asked] == [NODES, EDGES]


async def test_what_was_missed_becomes_a_hint_of_another_reading() -> None:
    model = Canned(
        scripted(
            nodes=[entities(thing("cart.py")), entities(thing("cart.py"), thing("sqlite"))],
            missed_things=[missed("sqlite"), missed()],
            missed_facts=[missed()],
        )
    )
    group = await read(model, passes=3)
    again = model.prompts(NODES)[1]
    assert "An earlier reading missed these things" in shown(again)
    assert "- sqlite" in shown(again)
    assert len(model.prompts(MISSED_THINGS)) == 2
    assert {"cart.py", "sqlite"} <= names(group)
    assert "cart.py uses sqlite" in {fact.text for fact in group.facts}


@pytest.mark.parametrize(("mode", "first"), [("prepend", TOLD), ("append", "An earlier reading")])
async def test_instructions_stand_before_or_after_the_hints(
    mode: PreprocessingMode, first: str
) -> None:
    model = Canned(
        scripted(missed_things=[missed("postgres")], missed_facts=[missed("It is slow.")])
    )
    await read(model, passes=1, mode=mode)
    for prompt in (NODES, EDGES):
        said = shown(model.prompts(prompt)[1])
        second = TOLD if first != TOLD else "An earlier reading"
        assert 0 < said.index(first) < said.index(second)


async def test_there_are_no_more_passes_than_were_asked_for() -> None:
    never_enough = [missed(f"thing {n}") for n in range(9)]
    model = Canned(scripted(missed_things=[*never_enough], missed_facts=[*never_enough]))
    await read(model, passes=2)
    assert [len(model.prompts(prompt)) for prompt in (NODES, EDGES)] == [3, 3]
    assert [len(model.prompts(p)) for p in (MISSED_THINGS, MISSED_FACTS)] == [2, 2]


async def test_what_was_named_already_or_is_no_thing_is_not_missed() -> None:
    model = Canned(
        scripted(missed_things=[missed("CART.PY", "user", "line 4", "")], missed_facts=[missed()])
    )
    await read(model, passes=3)
    assert len(model.prompts(NODES)) == 1


async def test_a_thing_that_a_later_reading_leaves_out_stays() -> None:
    model = Canned(
        scripted(
            nodes=[entities(thing("cart.py", 1), thing("sqlite")), entities(thing("postgres"))],
            missed_things=[missed("postgres")],
        )
    )
    group = await read(model, passes=1)
    assert {"cart.py", "sqlite", "postgres"} <= names(group)


async def test_a_later_reading_says_what_kind_a_thing_is() -> None:
    model = Canned(
        scripted(
            nodes=[entities(thing("cart.py"), thing("KeyError", 4)), entities(thing("cart.py", 1))],
            missed_things=[missed("sqlite")],
        )
    )
    kinds = {entity.name: entity.labels for entity in (await read(model, passes=1)).entities}
    assert kinds["cart.py"] == ("File",)
    assert kinds["KeyError"] == ("Error",)


async def test_a_fact_said_in_other_words_by_a_later_reading_is_one_fact() -> None:
    earlier = [
        fact("cart.py", "cart.py uses sqlite", "sqlite"),
        fact("cart.py", "cart.py broke KeyError", "KeyError", "BROKE"),
    ]
    later = [
        fact("cart.py", "cart.py now uses sqlite for orders", "sqlite"),
        fact("pytest -q", "pytest -q found KeyError", "KeyError"),
    ]
    model = Canned(
        scripted(
            edges=[{"edges": earlier}, {"edges": later}], missed_facts=[missed("pytest found it")]
        )
    )
    group = await read(model, passes=1)
    assert {fact.text for fact in group.facts} == {
        "cart.py now uses sqlite for orders",
        "cart.py broke KeyError",
        "pytest -q found KeyError",
    }


async def test_a_later_reading_that_says_less_takes_no_fact_away() -> None:
    earlier = [
        fact("cart.py", "cart.py uses sqlite for orders", "sqlite"),
        fact("cart.py", "cart.py uses sqlite for prices", "sqlite"),
    ]
    later = [fact("cart.py", "cart.py uses sqlite for taxes", "sqlite")]
    model = Canned(
        scripted(edges=[{"edges": earlier}, {"edges": later}], missed_facts=[missed("taxes")])
    )
    group = await read(model, passes=1)
    assert {fact.text for fact in group.facts} == {one["fact"] for one in [*earlier, *later]}


async def test_a_hint_that_did_not_help_is_not_given_again() -> None:
    same = [missed("postgres") for _ in range(3)]
    model = Canned(scripted(missed_things=[*same], missed_facts=[*same]))
    await read(model, passes=3)
    assert [len(model.prompts(prompt)) for prompt in (NODES, EDGES)] == [2, 2]
    assert [len(model.prompts(p)) for p in (MISSED_THINGS, MISSED_FACTS)] == [2, 2]


async def test_what_reflexion_costs_is_counted_for_the_turn() -> None:
    model = Canned(scripted(missed_things=[missed("postgres")], missed_facts=[missed("x")]))
    asks = LlmExtractor(model, ToyEmbedder(), prompts=fixed_prompt(TOLD, reflexion=1))
    (result,) = await sample_turns.take_in(
        asks, sample_turns.episodes()[:1], sample_turns.empty_group(), ToyEmbedder()
    )
    assert result.usage.calls == len(model.asked) == 6


async def test_a_model_that_misses_everything_gives_only_so_many_hints() -> None:
    many = missed(*(f"thing number {n}.py" for n in range(10_000)))
    model = Canned(scripted(missed_things=[many], missed_facts=[missed()]))
    await read(model, passes=1)
    assert shown(model.prompts(NODES)[1]).count("- thing number") == 30
