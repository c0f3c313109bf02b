"""Long turns: each chunk is extracted and resolved by itself; all chunks are one change."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.extraction import sample_turns
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers.provider import FakeProvider, ReceivedRequest
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import BadTurn
from turnetl.base.model import Episode, Fact
from turnetl.extraction.llm import LlmExtractor, graphiti_calls
from turnetl.extraction.port import Resolved
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.llm.chat import ChatModel


def with_chunks(episode: Episode, *chunks: str) -> Episode:
    return replace(episode, text="\n\n".join(chunks), chunks=chunks)


def long_turn(*indexes: int) -> Episode:
    """Return one turn whose chunks are the sample turns with these indexes."""
    turns = sample_turns.episodes()
    return with_chunks(turns[indexes[0]], *(turns[index].text for index in indexes))


async def ingest(
    model: ChatModel, embedder: ToyEmbedder, turns: list[Episode], group: MirrorGroup | None = None
) -> tuple[MirrorGroup, list[Resolved]]:
    group = group or sample_turns.empty_group()
    extractor = LlmExtractor(model, embedder, prompts=fixed_prompt(None))
    return group, await sample_turns.ingest(extractor, turns, group, embedder)


def names(group: MirrorGroup) -> dict[str, str]:
    return {entity.uuid: entity.name for entity in group.entities}


def facts_of(group: MirrorGroup) -> set[tuple[str, str, str, bool]]:
    entity_names = names(group)
    return {
        (
            entity_names[fact.source],
            fact.text,
            entity_names[fact.target],
            fact.invalid_at is not None,
        )
        for fact in group.facts
    }


def fact_with(group: MirrorGroup, text: str) -> Fact:
    return next(fact for fact in group.facts if fact.text == text)


def context_of(request: ReceivedRequest) -> str:
    return request.messages[1][1].split("CURRENT")[0]


async def test_a_turn_in_chunks_gives_the_same_facts_as_separate_turns(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    turns = sample_turns.episodes()
    separate, _ = await ingest(model, embedder, turns[:4])
    together, _ = await ingest(model, embedder, [long_turn(0, 1, 2, 3)])
    assert facts_of(together) == facts_of(separate)
    assert {(entity.name, entity.labels, entity.summary) for entity in together.entities} == {
        (entity.name, entity.labels, entity.summary) for entity in separate.entities
    }
    assert any(ended for *_, ended in facts_of(together))


async def test_a_turn_in_chunks_gives_the_same_facts_in_a_group_with_turns(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    turns = sample_turns.episodes()
    separate, _ = await ingest(model, embedder, turns)
    together, _ = await ingest(model, embedder, [turns[0], turns[1]])
    await ingest(model, embedder, [long_turn(2, 3, 4, 5)], together)
    assert facts_of(together) == facts_of(separate)
    assert sorted(names(together).values()) == sorted(names(separate).values())


async def test_the_facts_of_all_chunks_name_the_turn_once(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    turn = long_turn(0, 1)
    group, _ = await ingest(model, embedder, [turn])
    assert {fact.turns for fact in group.facts} == {(turn.turn_id,)}


async def test_a_later_chunk_invalidates_a_fact_of_an_earlier_one(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    turn = long_turn(2, 3)
    group, (result,) = await ingest(model, embedder, [turn])
    ended = fact_with(group, "Cart.py uses sqlite")
    assert turn.turn.started_at is not None
    assert ended.valid_at == turn.turn.started_at
    assert ended.invalid_at == turn.turn.started_at + timedelta(microseconds=1)
    # The fact is new and already invalidated: one change of the turn.
    assert [fact.uuid for fact in result.facts].count(ended.uuid) == 1


async def test_entities_are_mentioned_in_the_chunks_that_name_them(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    group, (result,) = await ingest(model, embedder, [long_turn(0, 4, 5)])
    mentions = {names(group)[uuid]: chunks for uuid, chunks in result.mentioned_in.items()}
    assert mentions["sqlite"] == (0,)
    assert mentions["pricing.py"] == (1, 2)
    assert mentions["cart.py"] == (0, 1, 2)
    assert mentions["pytest -q"] == (0, 2)
    assert sorted(result.mentioned_in) == list(result.mentions)


async def test_a_request_about_a_chunk_contains_that_chunk(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    turn = long_turn(0, 5)
    await ingest(model, embedder, [turn])
    (request,) = provider.requests_for("entity_resolutions")
    assert "pytest-q" in str(request.messages)
    assert sample_turns.TURN_TEXTS[5] in str(request.messages)
    assert len(provider.requests_for("extracted_entities")) == 2


async def test_each_chunk_is_extracted_once_with_the_earlier_chunks_as_context(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    turns = sample_turns.episodes()
    await ingest(model, embedder, [turns[0], long_turn(1, 2, 3)])
    texts = sample_turns.TURN_TEXTS
    contexts = [context_of(request) for request in provider.requests_for("edges")]
    indexes = [[i for i, text in enumerate(texts) if text in context] for context in contexts]
    # The requests for facts run while the next chunk is extracted: in any order.
    assert sorted(indexes) == [[], [0], [0, 1], [0, 1, 2]]
    assert len(provider.requests_for("extracted_entities")) == 4


async def test_the_context_contains_only_head_and_tail_of_a_long_turn(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    turns = sample_turns.episodes()
    middle = "middle " * 3000
    long = with_chunks(turns[0], f"user: Begin. {middle}", middle, f"{middle} The end.")
    extractor = LlmExtractor(model, embedder, prompts=fixed_prompt(None))
    extracted = await extractor.extract(turns[1], [long])
    await asyncio.gather(*(chunk.facts for chunk in extracted.chunks))
    for request in (*provider.requests_for("extracted_entities"), *provider.requests_for("edges")):
        messages = str(request.messages)
        assert "user: Begin." in messages
        assert "The end." in messages
        assert messages.count("middle") < 1000


def test_head_and_tail_of_a_short_text_are_all_of_it() -> None:
    assert graphiti_calls.head_and_tail(["user: Q"]) == "user: Q"
    assert graphiti_calls.head_and_tail(["user: Q", "assistant: A"]).startswith("user: Q\n")
    assert graphiti_calls.head_and_tail(["user: Q", "assistant: A"]).endswith("\nassistant: A")
    assert len(graphiti_calls.head_and_tail(["x" * 9000])) < 6100


async def test_a_chunk_that_cannot_be_extracted_fails_the_turn(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    turn = long_turn(0, 1)
    extractor = LlmExtractor(model, embedder, prompts=fixed_prompt(None))
    provider.responses = ['{"extracted_entities": []}', *["no"] * 4]
    with pytest.raises(BadTurn):
        await sample_turns.ingest(extractor, [turn], sample_turns.empty_group(), embedder)
    await extractor.close()
    assert any(sample_turns.TURN_TEXTS[1] in str(request.messages) for request in provider.requests)


async def test_resolving_a_long_turn_does_not_change_the_group(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    group, _ = await ingest(model, embedder, sample_turns.episodes()[:2])
    extractor = LlmExtractor(model, embedder, prompts=fixed_prompt(None))
    turn = long_turn(2, 3, 4)
    extracted = await extractor.extract(turn, [])
    before = list(group.entities), list(group.facts)
    first = await extractor.resolve(turn, extracted, group, now=sample_turns.NOW)
    assert (list(group.entities), list(group.facts)) == before
    again = await extractor.resolve(turn, extracted, group, now=sample_turns.NOW)
    assert replace(again, usage=first.usage) == first


async def test_the_usage_contains_the_requests_of_all_chunks(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    _, (result,) = await ingest(model, embedder, [long_turn(0, 1, 5)])
    assert result.usage.calls == len(provider.requests)
    assert len(provider.requests) >= 7
