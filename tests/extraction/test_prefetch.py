"""Early requests: facts while entities are resolved, embeddings, attributes; none in vain."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from typing_extensions import override

from tests.extraction import sample_turns
from tests.extraction.canned_model import CannedModel
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import BadTurn
from turnetl.base.model import Vector
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.ontology import Ontology
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.llm.chat import ChatRequest

EDGES, DEDUPE = "extract_edges.edge", "dedupe_nodes.nodes"
RESOLVE, ATTRIBUTES = "dedupe_edges.resolve_edge", "extract_nodes.extract_attributes"


class RecordingEmbedder(ToyEmbedder):
    """Records the texts of each request."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[list[str]] = []

    @override
    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.requests.append(list(texts))
        return await super().embed(texts)


def llm_extractor(model: CannedModel, embedder: ToyEmbedder | None = None) -> LlmExtractor:
    return LlmExtractor(model, embedder or ToyEmbedder(), prompts=fixed_prompt(None))


async def group_with(turns: int) -> MirrorGroup:
    group = sample_turns.empty_group()
    await sample_turns.ingest(
        llm_extractor(CannedModel()), sample_turns.episodes()[:turns], group, ToyEmbedder()
    )
    return group


async def test_entities_are_resolved_while_facts_are_requested() -> None:
    group = await group_with(5)
    turn = replace(sample_turns.episodes()[5], chunks=("`cart` uses `lite`.",))
    model = CannedModel()
    model.blocked[EDGES] = asyncio.Event()
    resolved = model.received.setdefault(DEDUPE, asyncio.Event())
    extractor = llm_extractor(model)
    extracted = await extractor.extract(turn, [])
    resolving = asyncio.create_task(extractor.resolve(turn, extracted, group, now=sample_turns.NOW))
    await asyncio.wait_for(resolved.wait(), 10)
    assert not resolving.done()
    model.blocked[EDGES].set()
    assert (await resolving).facts
    assert len(model.prompts(EDGES)) == len(model.prompts(DEDUPE)) == 1


async def test_an_error_while_facts_are_requested_fails_the_turn_that_needs_them() -> None:
    def respond(request: ChatRequest) -> None:
        if request.prompt_name == EDGES:
            raise BadTurn("no")

    extractor = llm_extractor(CannedModel(respond))
    extracted = await extractor.extract(sample_turns.episodes()[0], [])
    with pytest.raises(BadTurn):
        await extractor.resolve(
            sample_turns.episodes()[0], extracted, sample_turns.empty_group(), now=sample_turns.NOW
        )


async def test_facts_that_are_not_needed_are_still_requested_and_may_fail_silently() -> None:
    def respond(request: ChatRequest) -> None:
        if request.prompt_name == EDGES:
            raise BadTurn("no")

    model = CannedModel(respond)
    await llm_extractor(model).extract(sample_turns.episodes()[0], [])
    await asyncio.wait_for(model.received.setdefault(EDGES, asyncio.Event()).wait(), 10)


async def test_close_cancels_running_requests() -> None:
    model = CannedModel()
    model.blocked[EDGES] = asyncio.Event()
    extractor = llm_extractor(model)
    extracted = await extractor.extract(sample_turns.episodes()[0], [])
    await extractor.close()
    assert all(chunk.facts.cancelled() for chunk in extracted.chunks)
    await extractor.close()


async def test_names_and_facts_are_embedded_in_one_request_each_before_resolution() -> None:
    embedder = RecordingEmbedder()
    extractor = llm_extractor(CannedModel(), embedder)
    turn = sample_turns.episodes()[0]
    extracted = await extractor.extract(turn, [])
    for chunk in extracted.chunks:
        await chunk.facts
    assert len(embedder.requests) == 2
    await extractor.resolve(turn, extracted, sample_turns.empty_group(), now=sample_turns.NOW)
    assert len(embedder.requests) == 2


async def test_attributes_are_requested_while_facts_are_resolved() -> None:
    group = await group_with(5)
    turn = replace(sample_turns.episodes()[5], chunks=("`cart.py` uses `redis`.",))
    model = CannedModel(lambda one: {"version": "2"} if one.prompt_name == ATTRIBUTES else None)
    model.blocked[RESOLVE] = asyncio.Event()
    requested = model.received.setdefault(ATTRIBUTES, asyncio.Event())
    kinds = Ontology({"File": "A file."}, {}, {"File": {"version": "As stated."}})
    extractor = LlmExtractor(model, ToyEmbedder(), prompts=fixed_prompt(None), ontology=kinds)
    extracted = await extractor.extract(turn, [])
    resolving = asyncio.create_task(extractor.resolve(turn, extracted, group, now=sample_turns.NOW))
    await asyncio.wait_for(requested.wait(), 10)
    assert not resolving.done()
    model.blocked[RESOLVE].set()
    attributes = {entity.name: entity.attributes for entity in (await resolving).entities}
    assert attributes["cart.py"] == {"version": "2"}


async def test_an_extraction_requests_and_writes_no_summary() -> None:
    group = await group_with(5)
    long_summary = " ".join(["sqlite is slow"] * 140)
    known = next(entity for entity in group.entities if entity.name == "sqlite")
    group.put([replace(known, summary=long_summary)], ())
    turn = replace(
        sample_turns.episodes()[5], chunks=("`checkout flow` and `cart.py` uses `sqlite`.",)
    )
    model = CannedModel()
    extractor = llm_extractor(model)
    extracted = await extractor.extract(turn, [])
    resolved = await extractor.resolve(turn, extracted, group, now=sample_turns.NOW)
    assert not any("summar" in request.prompt_name for request in model.requests)
    summaries = {entity.name: entity.summary for entity in resolved.entities}
    assert summaries["checkout flow"] == ""
    assert set(summaries.values()) <= {"", long_summary}
