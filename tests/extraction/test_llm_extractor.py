"""The LLM extractor, over real HTTP with canned responses. See also test_extractor_contract."""

import gc
import weakref

from graphiti_core.utils.maintenance import edge_operations, node_operations

from tests.builders import GROUP
from tests.extraction import sample_turns
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers.provider import FakeProvider
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.ids import recipe_digest
from turnetl.base.model import Fact, GroupId
from turnetl.extraction import ontology
from turnetl.extraction.llm import LlmExtractor
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.llm.chat import ChatModel

INSTRUCTIONS = "Look for failures and their fixes."


def extractor(
    model: ChatModel, embedder: ToyEmbedder, instructions: str | None = INSTRUCTIONS
) -> LlmExtractor:
    return LlmExtractor(model, embedder, prompts=fixed_prompt(instructions))


async def ingest(model: ChatModel, embedder: ToyEmbedder) -> MirrorGroup:
    group = sample_turns.empty_group()
    await sample_turns.ingest(extractor(model, embedder), sample_turns.episodes(), group, embedder)
    return group


def fact_with(group: MirrorGroup, text: str) -> Fact:
    return next(fact for fact in group.facts if fact.text == text)


async def test_entities_and_facts_have_their_types(model: ChatModel, embedder: ToyEmbedder) -> None:
    group = await ingest(model, embedder)
    labels = {entity.name: entity.labels for entity in group.entities}
    assert labels["cart.py"] == ("File",)
    assert labels["KeyError"] == ("Error",)
    assert labels["sqlite"] == ()
    fact = fact_with(group, "cart.py depends on pricing.py")
    source, target = group.entity(fact.source), group.entity(fact.target)
    assert source is not None
    assert target is not None
    # Of signatures, files depend on packages only.
    assert (source.name, fact.relation, target.name) == ("cart.py", "RELATES_TO", "pricing.py")


async def test_a_name_in_another_case_or_spelling_is_the_same_entity(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    names = [entity.name for entity in (await ingest(model, embedder)).entities]
    assert "Cart.py" not in names
    assert "pytest-q" not in names
    assert len(names) == len(set(names))


async def test_a_repeated_fact_names_both_turns(model: ChatModel, embedder: ToyEmbedder) -> None:
    turns = [episode.turn_id for episode in sample_turns.episodes()]
    group = await ingest(model, embedder)
    assert fact_with(group, "pytest -q failed with KeyError").turns == (turns[0], turns[1])


async def test_a_fact_without_a_date_has_that_of_its_turn_and_no_request_asks_for_one(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    group = await ingest(model, embedder)
    dated = fact_with(group, "cart.py uses postgres on 2026-03-01").valid_at
    assert dated is not None
    assert dated.date().isoformat() == "2026-03-01"
    undated = fact_with(group, "KeyError was caused by cart.py")
    assert undated.valid_at == undated.reference_time == sample_turns.episodes()[1].turn.started_at
    requests = provider.requests_for("valid_at")
    assert not [request for request in requests if "edges" not in str(request.body)]


async def test_a_contradicted_fact_is_invalidated_at_the_time_of_the_turn(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    fact = fact_with(await ingest(model, embedder), "cart.py uses sqlite")
    assert fact.invalid_at == sample_turns.episodes()[3].turn.started_at
    assert fact.expired_at == sample_turns.NOW


async def test_an_entity_that_only_a_fact_names_is_created(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    group = await ingest(model, embedder)
    fact = fact_with(group, "pricing.py is pinned to 2.1")
    target = group.entity(fact.target)
    assert target is not None
    assert target.name == "2.1"


async def test_results_have_the_time_of_the_run(model: ChatModel, embedder: ToyEmbedder) -> None:
    group = await ingest(model, embedder)
    assert {entity.created_at for entity in group.entities} == {sample_turns.NOW}
    assert {fact.created_at for fact in group.facts} == {sample_turns.NOW}


async def test_instructions_are_in_both_extraction_prompts_and_in_no_other(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    await ingest(model, embedder)
    instructed = [request for request in provider.requests if INSTRUCTIONS in str(request.messages)]
    extracting = provider.requests_for("extracted_entities") + provider.requests_for("edges")
    assert len(extracting) == 12
    assert sorted(map(id, instructed)) == sorted(map(id, extracting))
    assert len(provider.requests) > len(extracting)


async def test_the_context_contains_the_earlier_turns_of_the_session(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    await ingest(model, embedder)
    requests = provider.requests_for("edges")
    contexts = [request.messages[1][1].split("CURRENT")[0] for request in requests]
    counts = [sum(text in context for text in sample_turns.TURN_TEXTS) for context in contexts]
    assert counts == [0, 1, 2, 3, 0, 1]


async def test_requests_and_tokens_are_counted_for_their_turn(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    group = sample_turns.empty_group()
    turns = sample_turns.episodes()
    results = await sample_turns.ingest(extractor(model, embedder), turns, group, embedder)
    assert sum(result.usage.calls for result in results) == len(provider.requests)
    assert provider.requests
    assert all(result.usage.prompt_tokens == 100 * result.usage.calls for result in results)


async def test_each_text_is_embedded_once(model: ChatModel, embedder: ToyEmbedder) -> None:
    turns = sample_turns.episodes()
    group = sample_turns.empty_group()
    one_extractor = extractor(model, embedder)
    await sample_turns.ingest(one_extractor, turns[:1], group, embedder)
    embedder.embedded.clear()
    extracted = await one_extractor.extract(turns[1], turns[:1])
    resolved = await one_extractor.resolve(turns[1], extracted, group, now=sample_turns.NOW)
    assert resolved.facts
    assert all(fact.embedding is not None for fact in resolved.facts)
    assert len(embedder.embedded) == len(set(embedder.embedded))


def recipe(extractor: LlmExtractor, group: GroupId, kind: str = "") -> str:
    return recipe_digest(extractor.recipe_parts(group, kind))


async def test_the_extractor_does_not_keep_a_group_in_memory(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    one_extractor = extractor(model, embedder)
    group = sample_turns.empty_group()
    await sample_turns.ingest(one_extractor, sample_turns.episodes()[:1], group, embedder)
    reference = weakref.ref(group)
    del group
    gc.collect()
    assert reference() is None
    assert recipe(one_extractor, GROUP)


def test_the_recipe_depends_on_instructions_and_ontology(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    recipes = {
        recipe(extractor(model, embedder), GROUP),
        recipe(extractor(model, embedder, "Other."), GROUP),
        recipe(extractor(model, embedder, None), GROUP),
        recipe(
            LlmExtractor(
                model, embedder, prompts=fixed_prompt(None), ontology=ontology.NO_ONTOLOGY
            ),
            GROUP,
        ),
    }
    assert len(recipes) == 4
    assert recipe(extractor(model, embedder), GROUP) == recipe(extractor(model, embedder), GROUP)


def test_graphitis_building_blocks_have_the_expected_parameters() -> None:
    """The positional arguments that this extractor passes, by Graphiti's names."""
    names = {
        node_operations.extract_nodes: "clients episode previous_episodes entity_types",
        node_operations.resolve_extracted_nodes: (
            "clients extracted_nodes episode previous_episodes entity_types"
        ),
        node_operations.extract_attributes_only_from_nodes: (
            "clients nodes episode previous_episodes entity_types"
        ),
        edge_operations.extract_edges: (
            "clients episode nodes previous_episodes edge_type_map group_id edge_types"
        ),
        edge_operations.resolve_extracted_edges: (
            "clients extracted_edges episode entities edge_types edge_type_map"
        ),
    }
    for block, expected in names.items():
        actual = block.__code__.co_varnames[: len(expected.split())]
        assert actual == tuple(expected.split())
