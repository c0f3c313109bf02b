"""Reflexion: the model is asked what it missed, and its response is a hint for another pass."""

import json
from typing import Any

import pytest

from tests.extraction import sample_turns
from tests.extraction.canned_model import CannedModel, ResponseRule, request_text
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.extraction.config import PreprocessingMode
from turnetl.extraction.llm import LlmExtractor
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.llm.chat import ChatRequest

INSTRUCTIONS = "Look for what broke."
NODES, EDGES = "extract_nodes.extract_message", "extract_edges.edge"
MISSED_ENTITIES, MISSED_FACTS = "reflexion.entities", "reflexion.facts"


def node(name: str, type_id: int = 0) -> dict[str, Any]:
    return {"name": name, "entity_type_id": type_id, "episode_indices": [0]}


def fact(source: str, text: str, target: str, relation: str = "USES") -> dict[str, Any]:
    endpoints = {"source_entity_name": source, "target_entity_name": target}
    return {**endpoints, "relation_type": relation, "fact": text, "episode_indices": [0]}


def scripted(**responses: list[dict[str, Any]]) -> ResponseRule:
    """Return a rule that gives each prompt the next of its responses."""
    by_prompt = {
        NODES: responses.get("nodes", []),
        EDGES: responses.get("edges", []),
        MISSED_ENTITIES: responses.get("missed_entities", []),
        MISSED_FACTS: responses.get("missed_facts", []),
    }

    def respond(request: ChatRequest) -> str | None:
        remaining = by_prompt.get(request.prompt_name, [])
        if not remaining and request.prompt_name in {MISSED_ENTITIES, MISSED_FACTS}:
            return json.dumps(missed())
        return json.dumps(remaining.pop(0)) if remaining else None

    return respond


def entities(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"extracted_entities": list(nodes)}


def missed(*names: str) -> dict[str, Any]:
    return {"missed_entities": list(names), "missed_facts": list(names)}


async def ingest(
    model: CannedModel, *, passes: int, mode: PreprocessingMode = "prepend"
) -> MirrorGroup:
    group = sample_turns.empty_group()
    extractor = LlmExtractor(
        model, ToyEmbedder(), prompts=fixed_prompt(INSTRUCTIONS, mode=mode, reflexion=passes)
    )
    await sample_turns.ingest(extractor, sample_turns.episodes()[:1], group, ToyEmbedder())
    return group


def names(group: MirrorGroup) -> set[str]:
    return {entity.name for entity in group.entities}


async def test_without_a_pass_there_is_no_reflexion_request() -> None:
    model = CannedModel()
    await ingest(model, passes=0)
    assert [request.prompt_name for request in model.requests] == [NODES, EDGES]


async def test_missed_entities_become_hints_of_another_extraction() -> None:
    model = CannedModel(
        scripted(
            nodes=[entities(node("cart.py")), entities(node("cart.py"), node("sqlite"))],
            missed_entities=[missed("sqlite"), missed()],
            missed_facts=[missed()],
        )
    )
    group = await ingest(model, passes=3)
    second = model.prompts(NODES)[1]
    assert "An earlier extraction missed these entities" in request_text(second)
    assert "- sqlite" in request_text(second)
    assert len(model.prompts(MISSED_ENTITIES)) == 2
    assert {"cart.py", "sqlite"} <= names(group)
    assert "cart.py uses sqlite" in {fact.text for fact in group.facts}


@pytest.mark.parametrize(
    ("mode", "first"), [("prepend", INSTRUCTIONS), ("append", "An earlier extraction")]
)
async def test_the_mode_sets_whether_instructions_precede_or_follow_the_hints(
    mode: PreprocessingMode, first: str
) -> None:
    model = CannedModel(
        scripted(missed_entities=[missed("postgres")], missed_facts=[missed("It is slow.")])
    )
    await ingest(model, passes=1, mode=mode)
    for prompt in (NODES, EDGES):
        text = request_text(model.prompts(prompt)[1])
        second = INSTRUCTIONS if first != INSTRUCTIONS else "An earlier extraction"
        assert 0 < text.index(first) < text.index(second)


async def test_there_are_no_more_passes_than_configured() -> None:
    new_hints = [missed(f"component {n}") for n in range(9)]
    model = CannedModel(scripted(missed_entities=[*new_hints], missed_facts=[*new_hints]))
    await ingest(model, passes=2)
    assert [len(model.prompts(prompt)) for prompt in (NODES, EDGES)] == [3, 3]
    assert [len(model.prompts(p)) for p in (MISSED_ENTITIES, MISSED_FACTS)] == [2, 2]


async def test_known_names_and_names_on_the_stoplist_are_not_hints() -> None:
    model = CannedModel(
        scripted(missed_entities=[missed("CART.PY", "user", "line 4", "")], missed_facts=[missed()])
    )
    await ingest(model, passes=3)
    assert len(model.prompts(NODES)) == 1


async def test_an_entity_that_a_later_pass_omits_is_kept() -> None:
    model = CannedModel(
        scripted(
            nodes=[entities(node("cart.py", 1), node("sqlite")), entities(node("postgres"))],
            missed_entities=[missed("postgres")],
        )
    )
    group = await ingest(model, passes=1)
    assert {"cart.py", "sqlite", "postgres"} <= names(group)


async def test_a_later_pass_can_set_the_type_of_an_entity() -> None:
    model = CannedModel(
        scripted(
            nodes=[entities(node("cart.py"), node("KeyError", 6)), entities(node("cart.py", 1))],
            missed_entities=[missed("sqlite")],
        )
    )
    labels = {entity.name: entity.labels for entity in (await ingest(model, passes=1)).entities}
    assert labels["cart.py"] == ("File",)
    assert labels["KeyError"] == ("Error",)


async def test_a_fact_that_a_later_pass_words_differently_is_one_fact() -> None:
    earlier = [
        fact("cart.py", "cart.py uses sqlite", "sqlite"),
        fact("cart.py", "cart.py broke KeyError", "KeyError", "BROKE"),
    ]
    later = [
        fact("cart.py", "cart.py now uses sqlite for orders", "sqlite"),
        fact("pytest -q", "pytest -q found KeyError", "KeyError"),
    ]
    model = CannedModel(
        scripted(
            edges=[{"edges": earlier}, {"edges": later}], missed_facts=[missed("pytest found it")]
        )
    )
    group = await ingest(model, passes=1)
    assert {fact.text for fact in group.facts} == {
        "cart.py now uses sqlite for orders",
        "cart.py broke KeyError",
        "pytest -q found KeyError",
    }


async def test_a_later_pass_with_fewer_facts_removes_none() -> None:
    earlier = [
        fact("cart.py", "cart.py uses sqlite for orders", "sqlite"),
        fact("cart.py", "cart.py uses sqlite for prices", "sqlite"),
    ]
    later = [fact("cart.py", "cart.py uses sqlite for taxes", "sqlite")]
    model = CannedModel(
        scripted(edges=[{"edges": earlier}, {"edges": later}], missed_facts=[missed("taxes")])
    )
    group = await ingest(model, passes=1)
    assert {fact.text for fact in group.facts} == {edge["fact"] for edge in [*earlier, *later]}


async def test_a_hint_is_not_repeated() -> None:
    same = [missed("postgres") for _ in range(3)]
    model = CannedModel(scripted(missed_entities=[*same], missed_facts=[*same]))
    await ingest(model, passes=3)
    assert [len(model.prompts(prompt)) for prompt in (NODES, EDGES)] == [2, 2]
    assert [len(model.prompts(p)) for p in (MISSED_ENTITIES, MISSED_FACTS)] == [2, 2]


async def test_the_usage_of_a_turn_contains_reflexion() -> None:
    model = CannedModel(scripted(missed_entities=[missed("postgres")], missed_facts=[missed("x")]))
    extractor = LlmExtractor(model, ToyEmbedder(), prompts=fixed_prompt(INSTRUCTIONS, reflexion=1))
    (result,) = await sample_turns.ingest(
        extractor, sample_turns.episodes()[:1], sample_turns.empty_group(), ToyEmbedder()
    )
    assert result.usage.calls == len(model.requests) == 6


async def test_the_number_of_hints_is_limited() -> None:
    many = missed(*(f"component number {n}.py" for n in range(10_000)))
    model = CannedModel(scripted(missed_entities=[many], missed_facts=[missed()]))
    await ingest(model, passes=1)
    assert request_text(model.prompts(NODES)[1]).count("- component number") == 30
