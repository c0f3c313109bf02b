"""Facts in the air while things are matched; vectors made early; nothing asked in vain."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from typing_extensions import override

from tests.extraction import sample_turns
from tests.extraction.canned_model import Canned
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.errors import BadTurn
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.prompt_config import fixed_prompt
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.llm.chat import ChatRequest
from turnetl.model import Vector

EDGES, DEDUPE = "extract_edges.edge", "dedupe_nodes.nodes"
RESOLVE, SUMMARIES = "dedupe_edges.resolve_edge", "extract_nodes.extract_summaries_batch"


class Embedded(ToyEmbedder):
    """Remembers what was asked at once."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[list[str]] = []

    @override
    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.requests.append(list(texts))
        return await super().embed(texts)


def extractor(model: Canned, embedder: ToyEmbedder | None = None) -> LlmExtractor:
    return LlmExtractor(model, embedder or ToyEmbedder(), prompts=fixed_prompt(None))


async def grown(turns: int) -> MirrorGroup:
    group = sample_turns.empty_group()
    await sample_turns.take_in(
        extractor(Canned()), sample_turns.episodes()[:turns], group, ToyEmbedder()
    )
    return group


async def test_things_are_matched_while_facts_are_in_the_air() -> None:
    group = await grown(5)
    turn = replace(sample_turns.episodes()[5], parts=("`cart` uses `lite`.",))
    model = Canned()
    model.holds[EDGES] = asyncio.Event()
    matched = model.arrived.setdefault(DEDUPE, asyncio.Event())
    asks = extractor(model)
    extracted = await asks.extract(turn, [])
    resolving = asyncio.create_task(asks.resolve(turn, extracted, group, now=sample_turns.NOW))
    await asyncio.wait_for(matched.wait(), 10)
    assert not resolving.done()
    model.holds[EDGES].set()
    assert (await resolving).facts
    assert len(model.prompts(EDGES)) == len(model.prompts(DEDUPE)) == 1


async def test_facts_that_cannot_be_read_fail_the_turn_that_waits_for_them() -> None:
    def say(question: ChatRequest) -> None:
        if question.prompt_name == EDGES:
            raise BadTurn("no")

    asks = extractor(Canned(say))
    extracted = await asks.extract(sample_turns.episodes()[0], [])
    with pytest.raises(BadTurn):
        await asks.resolve(
            sample_turns.episodes()[0], extracted, sample_turns.empty_group(), now=sample_turns.NOW
        )


async def test_facts_that_nobody_waits_for_are_still_answered_and_may_fail_in_silence() -> None:
    def say(question: ChatRequest) -> None:
        if question.prompt_name == EDGES:
            raise BadTurn("no")

    model = Canned(say)
    await extractor(model).extract(sample_turns.episodes()[0], [])
    await asyncio.wait_for(model.arrived.setdefault(EDGES, asyncio.Event()).wait(), 10)


async def test_closing_breaks_off_what_is_in_the_air() -> None:
    model = Canned()
    model.holds[EDGES] = asyncio.Event()
    asks = extractor(model)
    extracted = await asks.extract(sample_turns.episodes()[0], [])
    await asks.close()
    assert all(part.facts.cancelled() for part in extracted.parts)
    await asks.close()


async def test_names_and_facts_are_embedded_in_one_request_each_before_they_are_matched() -> None:
    embedder = Embedded()
    asks = extractor(Canned(), embedder)
    turn = sample_turns.episodes()[0]
    extracted = await asks.extract(turn, [])
    for part in extracted.parts:
        await part.facts
    assert len(embedder.requests) == 2
    await asks.resolve(turn, extracted, sample_turns.empty_group(), now=sample_turns.NOW)
    assert len(embedder.requests) == 2


async def test_things_that_no_fact_is_about_are_summed_up_while_facts_are_looked_at() -> None:
    group = await grown(5)
    said = "`checkout flow` matters. `cart.py` uses `redis`."
    turn = replace(sample_turns.episodes()[5], parts=(said,))
    model = Canned()
    model.holds[RESOLVE] = asyncio.Event()
    summed_up = model.arrived.setdefault(SUMMARIES, asyncio.Event())
    asks = extractor(model)
    extracted = await asks.extract(turn, [])
    resolving = asyncio.create_task(asks.resolve(turn, extracted, group, now=sample_turns.NOW))
    await asyncio.wait_for(summed_up.wait(), 10)
    model.holds[RESOLVE].set()
    summaries = {one.name: one.summary for one in (await resolving).entities}
    assert summaries["checkout flow"] == "About checkout flow."
    assert summaries["redis"] == "cart.py uses redis"
    (asked,) = model.prompts(SUMMARIES)
    assert "checkout flow" in str(asked.messages[-1].text)


async def test_things_that_may_need_it_too_are_summed_up_with_them_in_one_question() -> None:
    group = await grown(5)
    long = " ".join(["sqlite is slow"] * 140)
    known = next(one for one in group.entities if one.name == "sqlite")
    group.put([replace(known, summary=long)], ())
    turn = replace(
        sample_turns.episodes()[5], parts=("`checkout flow` and `cart.py` uses `sqlite`.",)
    )
    model = Canned()
    asks = extractor(model)
    await asks.resolve(turn, await asks.extract(turn, []), group, now=sample_turns.NOW)
    assert len(model.prompts(SUMMARIES)) == 1
