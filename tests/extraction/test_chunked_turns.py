"""Turns in parts, before a model: each part is read and resolved by itself, all are one change."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.extraction import sample_turns
from tests.servers.provider import FakeProvider, ReceivedRequest
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.errors import BadTurn
from turnetl.extraction.llm import LlmExtractor, prompt_context
from turnetl.extraction.port import Resolved
from turnetl.extraction.prompt_config import fixed_prompt
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.llm.chat import ChatModel
from turnetl.model import Episode, Fact


def in_parts(of: Episode, *parts: str) -> Episode:
    return replace(of, text="\n\n".join(parts), parts=parts)


def long_turn(*places: int) -> Episode:
    """The turns of the story at these places, as parts of the first."""
    turns = sample_turns.episodes()
    return in_parts(turns[places[0]], *(turns[place].text for place in places))


async def resolved(
    model: ChatModel, embedder: ToyEmbedder, turns: list[Episode], group: MirrorGroup | None = None
) -> tuple[MirrorGroup, list[Resolved]]:
    group = group or sample_turns.empty_group()
    asks = LlmExtractor(model, embedder, prompts=fixed_prompt(None))
    return group, await sample_turns.take_in(asks, turns, group, embedder)


def names(group: MirrorGroup) -> dict[str, str]:
    return {entity.uuid: entity.name for entity in group.entities}


def said(group: MirrorGroup) -> set[tuple[str, str, str, bool]]:
    named = names(group)
    return {
        (named[fact.source], fact.text, named[fact.target], fact.invalid_at is not None)
        for fact in group.facts
    }


def the(group: MirrorGroup, text: str) -> Fact:
    return next(fact for fact in group.facts if fact.text == text)


def shown_before(asked: ReceivedRequest) -> str:
    return asked.messages[1][1].split("CURRENT")[0]


async def test_a_turn_in_parts_makes_what_as_many_turns_would(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    turns = sample_turns.episodes()
    apart, _ = await resolved(model, embedder, turns[:4])
    together, _ = await resolved(model, embedder, [long_turn(0, 1, 2, 3)])
    assert said(together) == said(apart)
    assert {(one.name, one.labels, one.summary) for one in together.entities} == {
        (one.name, one.labels, one.summary) for one in apart.entities
    }
    assert any(ended for *_, ended in said(together))


async def test_a_turn_in_parts_that_meets_a_group_makes_what_as_many_turns_would(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    turns = sample_turns.episodes()
    apart, _ = await resolved(model, embedder, turns)
    together, _ = await resolved(model, embedder, [turns[0], turns[1]])
    await resolved(model, embedder, [long_turn(2, 3, 4, 5)], together)
    assert said(together) == said(apart)
    assert sorted(names(together).values()) == sorted(names(apart).values())


async def test_facts_of_all_parts_name_the_turn_once(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    turn = long_turn(0, 1)
    group, _ = await resolved(model, embedder, [turn])
    assert {fact.turns for fact in group.facts} == {(turn.turn_id,)}


async def test_a_later_part_ends_what_an_earlier_one_said(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    turn = long_turn(2, 3)
    group, (result,) = await resolved(model, embedder, [turn])
    ended = the(group, "Cart.py uses sqlite")
    assert turn.turn.started_at is not None
    assert ended.valid_at == turn.turn.started_at
    assert ended.invalid_at == turn.turn.started_at + timedelta(microseconds=1)
    # It is new, and ended at once: one thing that the turn does.
    assert [fact.uuid for fact in result.facts].count(ended.uuid) == 1


async def test_things_are_said_in_the_parts_that_speak_of_them(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    group, (result,) = await resolved(model, embedder, [long_turn(0, 4, 5)])
    places = {names(group)[uuid]: parts for uuid, parts in result.mentioned_in.items()}
    assert places["sqlite"] == (0,)
    assert places["pricing.py"] == (1, 2)
    assert places["cart.py"] == (0, 1, 2)
    assert places["pytest -q"] == (0, 2)
    assert sorted(result.mentioned_in) == list(result.mentions)


async def test_what_is_asked_about_a_part_shows_that_part(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    turn = long_turn(0, 5)
    await resolved(model, embedder, [turn])
    (asked,) = provider.requests_for("entity_resolutions")
    assert "pytest-q" in str(asked.messages)
    assert sample_turns.SAID[5] in str(asked.messages)
    assert len(provider.requests_for("extracted_entities")) == 2


async def test_each_part_is_read_once_and_shown_what_came_before_it(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    turns = sample_turns.episodes()
    await resolved(model, embedder, [turns[0], long_turn(1, 2, 3)])
    before = [shown_before(asked) for asked in provider.requests_for("edges")]
    said = [[at for at, said in enumerate(sample_turns.SAID) if said in one] for one in before]
    # Facts are asked about while the next part's things are: in any order.
    assert sorted(said) == [[], [0], [0, 1], [0, 1, 2]]
    assert len(provider.requests_for("extracted_entities")) == 4


async def test_of_a_long_turn_before_only_beginning_and_end_are_shown(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    turns = sample_turns.episodes()
    middle = "middle " * 3000
    long = in_parts(turns[0], f"user: Begin. {middle}", middle, f"{middle} The end.")
    asks = LlmExtractor(model, embedder, prompts=fixed_prompt(None))
    extracted = await asks.extract(turns[1], [long])
    await asyncio.gather(*(part.facts for part in extracted.parts))
    for asked in (*provider.requests_for("extracted_entities"), *provider.requests_for("edges")):
        seen = str(asked.messages)
        assert "user: Begin." in seen
        assert "The end." in seen
        assert seen.count("middle") < 1000


def test_the_ends_of_what_is_short_are_all_of_it() -> None:
    assert prompt_context.head_and_tail(["user: Q"]) == "user: Q"
    assert prompt_context.head_and_tail(["user: Q", "assistant: A"]).startswith("user: Q\n")
    assert prompt_context.head_and_tail(["user: Q", "assistant: A"]).endswith("\nassistant: A")
    assert len(prompt_context.head_and_tail(["x" * 9000])) < 6100


async def test_a_part_that_cannot_be_read_fails_the_turn(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    turn = long_turn(0, 1)
    asks = LlmExtractor(model, embedder, prompts=fixed_prompt(None))
    provider.responses = ['{"extracted_entities": []}', *["no"] * 4]
    with pytest.raises(BadTurn):
        await sample_turns.take_in(asks, [turn], sample_turns.empty_group(), embedder)
    await asks.close()
    assert any(sample_turns.SAID[1] in str(asked.messages) for asked in provider.requests)


async def test_resolving_a_long_turn_leaves_the_group_as_it_is(
    model: ChatModel, embedder: ToyEmbedder
) -> None:
    group, _ = await resolved(model, embedder, sample_turns.episodes()[:2])
    asks = LlmExtractor(model, embedder, prompts=fixed_prompt(None))
    turn = long_turn(2, 3, 4)
    extracted = await asks.extract(turn, [])
    held = list(group.entities), list(group.facts)
    first = await asks.resolve(turn, extracted, group, now=sample_turns.NOW)
    assert (list(group.entities), list(group.facts)) == held
    again = await asks.resolve(turn, extracted, group, now=sample_turns.NOW)
    assert replace(again, usage=first.usage) == first


async def test_calls_for_all_parts_are_counted(
    model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    _, (result,) = await resolved(model, embedder, [long_turn(0, 1, 5)])
    assert result.usage.calls == len(provider.requests)
    assert len(provider.requests) >= 7
