"""The contract of the Extractor port. Every implementation runs it; models over real HTTP.

A new implementation is added to `IMPLEMENTATIONS`.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from tests import builders
from tests.builders import GROUP, tool
from tests.extraction import sample_turns
from tests.extraction.fixed_prompt import fixed_prompt
from tests.ingestion.fakes import PromptExtractor
from tests.servers.canned_responses import RESPONDERS
from tests.servers.provider import FakeProvider, Fault
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import BadTurn, ModelUnusable
from turnetl.base.ids import RecipeParts, recipe_digest
from turnetl.base.model import Entity, Episode, Fact, GroupId, SessionId, Usage
from turnetl.extraction.config import PromptConfigs
from turnetl.extraction.hybrid import HybridExtractor
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.ontology import CODING, NO_ONTOLOGY, Ontology
from turnetl.extraction.port import Extractor, Resolved
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.llm.chat import ChatModel
from turnetl.llm.providers.registry import open_model

PRODUCT = ("structural", "llm", "hybrid")
IMPLEMENTATIONS = (*PRODUCT, "fake")
"""The fake takes the prompt alone: what product code reads from a turn is not promised by it."""
WITH_MODEL = ("llm", "hybrid")
INSTRUCTIONS = "Look for what broke."
TOOL_CALLS = (
    (tool("Bash", "pytest -q", "KeyError: 'price'", is_error=True),),
    (tool("Edit", "/home/dev/shop/src/cart.py :: - a + b"),),
    (tool("Bash", "pytest -q", "12 passed"),),
    (tool("Bash", "uv add httpx", "ok"), tool("Edit", "/home/dev/shop/src/cart.py :: - b + c")),
    (),
    (tool("Bash", "git push", "ok"),),
)
"""Calls of the sample turns; the third turn invalidates the failure of the first."""


@dataclass(frozen=True)
class ExtractorFactory:
    """Makes extractors of one implementation."""

    implementation: str
    model: ChatModel
    embedder: ToyEmbedder

    def __call__(
        self,
        prompts: PromptConfigs | None = None,
        *,
        model: ChatModel | None = None,
        ontology: Ontology = CODING,
        parameters: str = "",
    ) -> Extractor[Any]:
        llm = LlmExtractor(
            model or self.model,
            self.embedder,
            prompts=prompts or fixed_prompt(INSTRUCTIONS),
            ontology=ontology,
            parameters=parameters,
        )
        match self.implementation:
            case "structural":
                return StructuralExtractor()
            case "llm":
                return llm
            case "fake":
                return PromptExtractor()
            case _:
                return HybridExtractor(StructuralExtractor(), llm)


@pytest.fixture(params=IMPLEMENTATIONS)
def factory(
    request: pytest.FixtureRequest, model: ChatModel, embedder: ToyEmbedder
) -> ExtractorFactory:
    return ExtractorFactory(request.param, model, embedder)


@pytest.fixture(params=PRODUCT)
def product_factory(
    request: pytest.FixtureRequest, model: ChatModel, embedder: ToyEmbedder
) -> ExtractorFactory:
    return ExtractorFactory(request.param, model, embedder)


@pytest.fixture(params=WITH_MODEL)
def model_factory(
    request: pytest.FixtureRequest, model: ChatModel, embedder: ToyEmbedder
) -> ExtractorFactory:
    return ExtractorFactory(request.param, model, embedder)


def turns() -> list[Episode]:
    """Return the sample turns with text in the fields and calls that structural rules read."""
    return [
        builders.episode(
            f"p{ordinal}",
            ordinal=ordinal,
            session_id=SessionId("s1" if ordinal < 4 else "s2"),
            started_at=builders.START + timedelta(hours=ordinal),
            user_text=text,
            tool_calls=calls,
        )
        for ordinal, (text, calls) in enumerate(
            zip(sample_turns.TURN_TEXTS, TOOL_CALLS, strict=True)
        )
    ]


async def ingest(extractor: Extractor[Any]) -> tuple[MirrorGroup, list[Resolved]]:
    group = sample_turns.empty_group()
    return group, await sample_turns.ingest(extractor, turns(), group, ToyEmbedder())


def contents(group: MirrorGroup) -> tuple[list[Entity], list[Fact]]:
    return list(group.entities), list(group.facts)


async def test_the_same_turns_give_the_same_result(factory: ExtractorFactory) -> None:
    first_group, first = await ingest(factory())
    second_group, second = await ingest(factory())
    assert first_group.entities
    assert first_group.facts
    assert contents(first_group) == contents(second_group)
    assert [replace(resolved, usage=Usage()) for resolved in first] == [
        replace(resolved, usage=Usage()) for resolved in second
    ]


async def test_extraction_may_run_ahead_of_earlier_turns(factory: ExtractorFactory) -> None:
    extractor, group = factory(), sample_turns.empty_group()
    extracted = await asyncio.gather(
        *(
            extractor.extract(turn, sample_turns.context(turns(), index))
            for index, turn in enumerate(turns())
        )
    )
    for turn, one in zip(turns(), extracted, strict=True):
        resolved = await extractor.resolve(turn, one, group, now=sample_turns.NOW)
        await sample_turns.apply(group, turn, resolved, ToyEmbedder())
    expected, _ = await ingest(factory())
    assert contents(group) == contents(expected)


async def test_resolve_changes_neither_the_group_nor_the_extracted_turn(
    factory: ExtractorFactory,
) -> None:
    extractor, group = factory(), sample_turns.empty_group()
    await sample_turns.ingest(extractor, turns()[:3], group, ToyEmbedder())
    before = contents(group)
    extracted = await extractor.extract(turns()[3], turns()[:3])
    first = await extractor.resolve(turns()[3], extracted, group, now=sample_turns.NOW)
    assert contents(group) == before
    second = await extractor.resolve(turns()[3], extracted, group, now=sample_turns.NOW)
    assert replace(second, usage=first.usage) == first


async def test_the_entities_of_every_fact_exist(factory: ExtractorFactory) -> None:
    extractor, group = factory(), sample_turns.empty_group()
    for index, turn in enumerate(turns()):
        extracted = await extractor.extract(turn, sample_turns.context(turns(), index))
        resolved = await extractor.resolve(turn, extracted, group, now=sample_turns.NOW)
        existing = {entity.uuid for entity in (*group.entities, *resolved.entities)}
        endpoints = {endpoint for fact in resolved.facts for endpoint in (fact.source, fact.target)}
        assert endpoints <= existing
        assert set(resolved.mentions) <= existing
        assert set(resolved.mentioned_in) <= set(resolved.mentions)
        await sample_turns.apply(group, turn, resolved, ToyEmbedder())


async def test_each_entity_and_fact_occurs_once_and_new_ones_come_first(
    factory: ExtractorFactory,
) -> None:
    extractor, group = factory(), sample_turns.empty_group()
    for index, turn in enumerate(turns()):
        extracted = await extractor.extract(turn, sample_turns.context(turns(), index))
        resolved = await extractor.resolve(turn, extracted, group, now=sample_turns.NOW)
        entities = [group.entity(entity.uuid) is not None for entity in resolved.entities]
        facts = [group.fact(fact.uuid) is not None for fact in resolved.facts]
        assert entities == sorted(entities)
        assert facts == sorted(facts)
        assert len({entity.uuid for entity in resolved.entities}) == len(resolved.entities)
        assert len({fact.uuid for fact in resolved.facts}) == len(resolved.facts)
        assert list(resolved.mentions) == sorted(set(resolved.mentions))
        await sample_turns.apply(group, turn, resolved, ToyEmbedder())


async def test_results_belong_to_the_group_the_turn_and_the_run(factory: ExtractorFactory) -> None:
    group, results = await ingest(factory())
    items: list[Entity | Fact] = [*group.entities, *group.facts]
    assert {item.group_id for item in items} == {GROUP}
    assert {item.created_at for item in items} == {sample_turns.NOW}
    assert group.facts
    for turn, resolved in zip(turns(), results, strict=True):
        new = [fact for fact in resolved.facts if fact.turns[-1] == turn.turn_id]
        assert all(fact.valid_at or fact.invalid_at for fact in new)


async def test_a_later_turn_invalidates_a_fact_and_keeps_it(
    product_factory: ExtractorFactory,
) -> None:
    group, _ = await ingest(product_factory())
    invalidated = [fact for fact in group.facts if fact.invalid_at is not None]
    assert invalidated
    assert {fact.expired_at for fact in invalidated} == {sample_turns.NOW}


async def test_the_context_is_used(
    product_factory: ExtractorFactory, provider: FakeProvider
) -> None:
    topic = "payment client"
    question = f"It works now. Should the {topic} use retries?"
    before = builders.episode("q", assistant_text=question)
    turn = builders.episode("a", ordinal=1, user_text="yes", assistant_text="The client retries.")

    async def sees_question(context: Sequence[Episode]) -> bool:
        provider.requests.clear()
        extractor, group = product_factory(), sample_turns.empty_group()
        extracted = await extractor.extract(turn, context)
        resolved = await extractor.resolve(turn, extracted, group, now=sample_turns.NOW)
        requests = [request.messages for request in provider.requests]
        return topic in str(resolved.facts) or topic in str(requests)

    assert await sees_question([before])
    assert not await sees_question([])


async def test_an_empty_turn_gives_no_fact(product_factory: ExtractorFactory) -> None:
    extractor, group = product_factory(), sample_turns.empty_group()
    turn = builders.episode(user_text="", assistant_text="", git_branch=None)
    extracted = await extractor.extract(turn, [])
    resolved = await extractor.resolve(turn, extracted, group, now=sample_turns.NOW)
    assert resolved.facts == ()


async def test_the_usage_is_that_of_the_requests(
    factory: ExtractorFactory, provider: FakeProvider
) -> None:
    _, results = await ingest(factory())
    assert sum(result.usage.calls for result in results) == len(provider.requests)
    assert all(result.usage.prompt_tokens == 100 * result.usage.calls for result in results)


async def test_close_may_be_repeated_and_leaves_no_task(factory: ExtractorFactory) -> None:
    tasks = asyncio.all_tasks()
    extractor = factory()
    await extractor.extract(turns()[0], [])
    await extractor.close()
    await extractor.close()
    assert asyncio.all_tasks() == tasks


def recipe(extractor: Extractor[Any], group: GroupId, kind: str = "") -> str:
    return recipe_digest(extractor.recipe_parts(group, kind))


def test_the_recipe_is_the_same_for_equal_extractors(factory: ExtractorFactory) -> None:
    assert recipe(factory(), GROUP)
    assert recipe(factory(), GROUP) == recipe(factory(), GROUP)
    assert recipe(factory(), GROUP, "error_heavy") == recipe(factory(), GROUP)


def test_the_recipes_of_the_implementations_differ(model: ChatModel, embedder: ToyEmbedder) -> None:
    recipes = {
        recipe(ExtractorFactory(implementation, model, embedder)(), GROUP)
        for implementation in IMPLEMENTATIONS
    }
    assert len(recipes) == len(IMPLEMENTATIONS)


async def test_the_recipe_changes_with_every_input_of_the_model(
    model_factory: ExtractorFactory, provider: FakeProvider
) -> None:
    other = open_model("openai-compatible", model="other", base_url=provider.base_url("openai"))
    variants: list[Callable[[], Extractor[Any]]] = [
        model_factory,
        lambda: model_factory(fixed_prompt("Other instructions.")),
        lambda: model_factory(fixed_prompt(None)),
        lambda: model_factory(fixed_prompt(INSTRUCTIONS, reflexion=1)),
        lambda: model_factory(fixed_prompt(INSTRUCTIONS, reflexion=1, mode="append")),
        lambda: model_factory(ontology=NO_ONTOLOGY),
        lambda: model_factory(parameters="high"),
        lambda: model_factory(model=other),
    ]
    assert len({recipe(make(), GROUP) for make in variants}) == len(variants)
    await other.close()


def test_the_part_of_the_recipe_that_changes_is_named_as_its_input(
    model_factory: ExtractorFactory,
) -> None:
    before = model_factory().recipe_parts(GROUP)
    assert _changed(before, lambda: model_factory(fixed_prompt("Other."))) == {"template"}
    assert _changed(before, lambda: model_factory(fixed_prompt(INSTRUCTIONS, reflexion=1))) == {
        "reflexion"
    }
    assert _changed(before, lambda: model_factory(ontology=NO_ONTOLOGY)) == {"ontology"}
    assert _changed(before, lambda: model_factory(parameters="high")) == {"effort"}


def _changed(before: RecipeParts, make: Callable[[], Extractor[Any]]) -> set[str]:
    after = make().recipe_parts(GROUP)
    assert after.keys() == before.keys()
    return {name for name in before if before[name] != after[name]}


async def test_an_invalid_response_is_a_bad_turn_and_the_next_turn_succeeds(
    model_factory: ExtractorFactory, provider: FakeProvider
) -> None:
    extractor, group = model_factory(), sample_turns.empty_group()
    await sample_turns.ingest(extractor, turns()[:1], group, ToyEmbedder())
    before = contents(group)
    provider.responses = ["no", "still no"]
    with pytest.raises(BadTurn):
        await sample_turns.ingest(extractor, turns()[1:2], group, ToyEmbedder())
    assert contents(group) == before
    provider.responses = []
    await sample_turns.ingest(extractor, turns()[2:3], group, ToyEmbedder())
    assert contents(group) != before


async def test_an_invalid_response_during_resolution_is_a_bad_turn(
    model_factory: ExtractorFactory, provider: FakeProvider
) -> None:
    extractor, group = model_factory(), sample_turns.empty_group()
    await sample_turns.ingest(extractor, turns()[:5], group, ToyEmbedder())
    before = contents(group)
    extracted = await extractor.extract(turns()[5], turns()[4:5])
    provider.responders = {**RESPONDERS, "duplicate_facts": lambda _: {"duplicate_facts": 7}}
    with pytest.raises(BadTurn):
        await extractor.resolve(turns()[5], extracted, group, now=sample_turns.NOW)
    assert contents(group) == before
    await extractor.close()


async def test_a_rejected_key_stops_the_run(
    model_factory: ExtractorFactory, provider: FakeProvider
) -> None:
    provider.faults = [Fault(401)]
    with pytest.raises(ModelUnusable):
        await model_factory().extract(turns()[0], [])
