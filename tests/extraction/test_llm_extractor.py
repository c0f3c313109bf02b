"""The extractor that asks a model, over real HTTP with canned answers."""

import asyncio
import gc
import weakref
from dataclasses import replace

import pytest
from graphiti_core.utils.maintenance import edge_operations, node_operations

from tests.builders import GROUP
from tests.extraction import sample_turns
from tests.servers.provider import FakeProvider, Fault
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.errors import BadTurn, ModelRefused
from turnetl.extraction import ontology
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.prompt_config import fixed_prompt
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.llm.chat import ChatModel
from turnetl.model import Fact

INSTRUCTIONS = "Look for what broke, and for what mended it."


def extractor(
    model: ChatModel, embedder: ToyEmbedder, told: str | None = INSTRUCTIONS
) -> LlmExtractor:
    return LlmExtractor(model, embedder, prompts=fixed_prompt(told))


async def told(model: ChatModel, embedder: ToyEmbedder) -> MirrorGroup:
    group = sample_turns.empty_group()
    await sample_turns.take_in(extractor(model, embedder), sample_turns.episodes(), group, embedder)
    return group


def the(group: MirrorGroup, text: str) -> Fact:
    return next(fact for fact in group.facts if fact.text == text)


async def test_things_and_facts_come_out_with_their_kinds(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    group = await told(model, embedder)
    labels = {entity.name: entity.labels for entity in group.entities}
    assert labels["cart.py"] == ("File",)
    assert labels["KeyError"] == ("Error",)
    assert labels["sqlite"] == ()
    fact = the(group, "cart.py depends on pricing.py")
    source, target = group.entity(fact.source), group.entity(fact.target)
    assert source is not None
    assert target is not None
    assert (source.name, fact.name, target.name) == ("cart.py", "DEPENDS_ON", "pricing.py")


async def test_a_thing_in_other_letters_is_the_same_thing(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    names = [entity.name for entity in (await told(model, embedder)).entities]
    assert "Cart.py" not in names
    assert "pytest-q" not in names
    assert len(names) == len(set(names))


async def test_a_fact_said_again_names_both_turns(model: ChatModel, embedder: ToyEmbedder) -> None:
    turns = [episode.turn_id for episode in sample_turns.episodes()]
    group = await told(model, embedder)
    assert the(group, "pytest -q failed with KeyError").turns == (turns[0], turns[1])


async def test_a_fact_without_a_date_has_its_turns_and_no_call_asks_for_one(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    group = await told(model, embedder)
    dated = the(group, "cart.py uses postgres on 2026-03-01").valid_at
    assert dated is not None
    assert dated.date().isoformat() == "2026-03-01"
    undated = the(group, "KeyError was caused by cart.py")
    assert undated.valid_at == undated.reference_time == sample_turns.episodes()[1].turn.started_at
    assert not [
        asked for asked in provider.requests_for("valid_at") if "edges" not in str(asked.body)
    ]


async def test_what_is_no_longer_so_is_retired_at_the_turn_that_says_so(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    fact = the(await told(model, embedder), "cart.py uses sqlite")
    assert fact.invalid_at == sample_turns.episodes()[3].turn.started_at
    assert fact.expired_at == sample_turns.NOW


async def test_an_end_that_only_a_fact_names_is_a_thing_too(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    group = await told(model, embedder)
    fact = the(group, "pricing.py is pinned to 2.1")
    target = group.entity(fact.target)
    assert target is not None
    assert target.name == "2.1"


async def test_what_is_written_has_the_time_that_was_handed_in(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    group = await told(model, embedder)
    assert {entity.created_at for entity in group.entities} == {sample_turns.NOW}
    assert {fact.created_at for fact in group.facts} == {sample_turns.NOW}


async def test_a_turn_done_again_gives_the_same(model: ChatModel, embedder: ToyEmbedder) -> None:
    first = await told(model, embedder)
    again = await told(model, embedder)
    assert list(first.entities) == list(again.entities)
    assert list(first.facts) == list(again.facts)


async def test_resolving_changes_neither_the_group_nor_what_was_extracted(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    turns = sample_turns.episodes()
    group = sample_turns.empty_group()
    both = extractor(model, embedder)
    await sample_turns.take_in(both, turns[:3], group, embedder)
    held = list(group.entities), list(group.facts)
    extracted = await both.extract(turns[3], turns[:3])
    first = await both.resolve(turns[3], extracted, group, now=sample_turns.NOW)
    assert (list(group.entities), list(group.facts)) == held
    second = await both.resolve(turns[3], extracted, group, now=sample_turns.NOW)
    assert replace(second, usage=first.usage) == first


async def test_extraction_may_run_ahead(model: ChatModel, embedder: ToyEmbedder) -> None:
    turns = sample_turns.episodes()
    both = extractor(model, embedder)
    group = sample_turns.empty_group()
    ahead = await asyncio.gather(
        *(
            both.extract(
                turn,
                [b for b in turns[:place] if b.turn.session_id == turn.turn.session_id][-3:],
            )
            for place, turn in enumerate(turns)
        )
    )
    for turn, extracted in zip(turns, ahead, strict=True):
        resolved = await both.resolve(turn, extracted, group, now=sample_turns.NOW)
        await sample_turns.apply(group, turn, resolved, embedder)
    assert list(group.facts) == list((await told(model, embedder)).facts)


async def test_instructions_stand_in_both_prompts_that_extract_and_in_no_other(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    await told(model, embedder)
    with_them = [asked for asked in provider.requests if INSTRUCTIONS in str(asked.messages)]
    extracting = provider.requests_for("extracted_entities") + provider.requests_for("edges")
    assert len(extracting) == 12
    assert sorted(map(id, with_them)) == sorted(map(id, extracting))
    assert len(provider.requests) > len(extracting)


async def test_the_model_is_shown_the_turns_before_in_the_session(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    await told(model, embedder)
    shown = [asked.messages[1][1].split("CURRENT")[0] for asked in provider.requests_for("edges")]
    assert [sum(said in text for said in sample_turns.SAID) for text in shown] == [0, 1, 2, 3, 0, 1]


async def test_calls_and_tokens_are_counted_for_their_turn(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    group = sample_turns.empty_group()
    turns = sample_turns.episodes()
    results = await sample_turns.take_in(extractor(model, embedder), turns, group, embedder)
    assert sum(result.usage.calls for result in results) == len(provider.requests)
    assert provider.requests
    assert all(result.usage.prompt_tokens == 100 * result.usage.calls for result in results)


async def test_a_vector_is_made_once_and_handed_on(model: ChatModel, embedder: ToyEmbedder) -> None:
    turns = sample_turns.episodes()
    group = sample_turns.empty_group()
    both = extractor(model, embedder)
    await sample_turns.take_in(both, turns[:1], group, embedder)
    embedder.embedded.clear()
    extracted = await both.extract(turns[1], turns[:1])
    resolved = await both.resolve(turns[1], extracted, group, now=sample_turns.NOW)
    assert resolved.facts
    assert all(fact.embedding is not None for fact in resolved.facts)
    assert len(embedder.embedded) == len(set(embedder.embedded))


async def test_an_answer_that_never_fits_sets_the_turn_aside(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    provider.responses = ["no", "still no"]
    with pytest.raises(BadTurn):
        await extractor(model, embedder).extract(sample_turns.episodes()[0], [])


async def test_a_wrong_key_stops_the_run(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    provider.faults = [Fault(401)]
    with pytest.raises(ModelRefused):
        await extractor(model, embedder).extract(sample_turns.episodes()[0], [])


async def test_a_group_is_let_go_of_after_its_run(model: ChatModel, embedder: ToyEmbedder) -> None:
    asks = extractor(model, embedder)
    group = sample_turns.empty_group()
    await sample_turns.take_in(asks, sample_turns.episodes()[:1], group, embedder)
    seen = weakref.ref(group)
    del group
    gc.collect()
    assert seen() is None
    assert asks.recipe(GROUP)


def test_the_recipe_hangs_on_model_instructions_and_ontology(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    recipes = {
        extractor(model, embedder).recipe(GROUP),
        extractor(model, embedder, "Other.").recipe(GROUP),
        extractor(model, embedder, None).recipe(GROUP),
        LlmExtractor(
            model, embedder, prompts=fixed_prompt(None), ontology=ontology.NO_ONTOLOGY
        ).recipe(GROUP),
    }
    assert len(recipes) == 4
    assert extractor(model, embedder).recipe(GROUP) == extractor(model, embedder).recipe(GROUP)


def test_graphitis_building_blocks_take_what_they_are_given() -> None:
    """Positional arguments that this extractor hands over, by Graphiti's names."""
    names = {
        node_operations.extract_nodes: "clients episode previous_episodes entity_types",
        node_operations.resolve_extracted_nodes: (
            "clients extracted_nodes episode previous_episodes entity_types"
        ),
        node_operations.extract_attributes_from_nodes: (
            "clients nodes episode previous_episodes entity_types should_summarize_node"
        ),
        edge_operations.extract_edges: (
            "clients episode nodes previous_episodes edge_type_map group_id edge_types"
        ),
        edge_operations.resolve_extracted_edges: (
            "clients extracted_edges episode entities edge_types edge_type_map"
        ),
    }
    for block, expected in names.items():
        found = block.__code__.co_varnames[: len(expected.split())]
        assert found == tuple(expected.split())
