"""Chunks that exceed the context window: split in half, and again, until they fit."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.extraction import sample_turns
from tests.extraction.canned_model import CannedModel, request_text
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base import clock
from turnetl.base.errors import BadTurn, TooLong
from turnetl.base.model import Episode, Usage
from turnetl.episodes.chunking import split_in_half
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.ontology import Ontology
from turnetl.extraction.port import Resolved
from turnetl.extraction.preview_builder import preview_requests
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.llm.chat import ChatModel, ChatRequest
from turnetl.llm.embedders import Embedder
from turnetl.llm.journal import Journal, JournaledModel

NODES, EDGES = "extract_nodes.extract_message", "extract_edges.edge"
ATTRIBUTES = "extract_nodes.extract_attributes"
USAGE = Usage(calls=1, prompt_tokens=100, completion_tokens=10)


def long_turn(times: int = 4) -> Episode:
    """Return the sample turns as one chunk, each turn a paragraph."""
    text = "\n\n".join([turn.text for turn in sample_turns.episodes()] * times)
    return replace(sample_turns.episodes()[0], text=text, chunks=(text,))


def limited_model(characters: int, *prompts: str) -> CannedModel:
    """Return a model that accepts texts of at most this many characters in these prompts."""

    def respond(request: ChatRequest) -> None:
        if request.prompt_name in prompts and len(current_message(request)) > characters:
            raise TooLong("the answer was truncated", USAGE)

    return CannedModel(respond)


def current_message(request: ChatRequest) -> str:
    """Return the text of the chunk that the request contains."""
    text = request_text(request)
    for name in ("CURRENT MESSAGE", "CURRENT_MESSAGE"):
        if f"<{name}>" in text:
            return text.split(f"<{name}>\n")[1].split(f"\n</{name}>")[0]
    return ""


async def ingest(
    model: ChatModel, turn: Episode, group: MirrorGroup | None = None
) -> tuple[MirrorGroup, Resolved]:
    group = group or sample_turns.empty_group()
    extractor = make_extractor(model, ToyEmbedder())
    (result,) = await sample_turns.ingest(extractor, [turn], group, ToyEmbedder())
    return group, result


def facts_of(group: MirrorGroup) -> set[tuple[str, str, str]]:
    names = {entity.uuid: entity.name for entity in group.entities}
    return {(names[fact.source], fact.text, names[fact.target]) for fact in group.facts}


@pytest.mark.parametrize("prompts", [(NODES,), (EDGES,), (NODES, EDGES)])
@pytest.mark.parametrize("characters", [1200, 600])
async def test_a_split_chunk_gives_the_same_facts_as_the_whole_one(
    prompts: tuple[str, ...], characters: int
) -> None:
    turn = long_turn()
    whole, _ = await ingest(CannedModel(), turn)
    split, _ = await ingest(limited_model(characters, *prompts), turn)
    assert facts_of(split) == facts_of(whole)
    assert {(entity.uuid, entity.name) for entity in split.entities} == {
        (entity.uuid, entity.name) for entity in whole.entities
    }
    assert {fact.uuid for fact in split.facts} == {fact.uuid for fact in whole.facts}


async def test_entities_are_not_requested_again_if_only_the_facts_do_not_fit() -> None:
    model = limited_model(700, EDGES)
    await ingest(model, long_turn())
    assert len(model.prompts(NODES)) == 1
    assert len(model.prompts(EDGES)) > 2


async def test_the_context_of_a_piece_contains_the_pieces_before_it() -> None:
    model = limited_model(1500, NODES)
    await ingest(model, long_turn())
    _, first, second = model.prompts(NODES)
    earlier = request_text(second).split("<PREVIOUS MESSAGES>")[1].split("</PREVIOUS MESSAGES>")[0]
    assert current_message(first)[:30] in earlier


async def test_a_chunk_that_does_not_fit_in_any_size_is_a_bad_turn() -> None:
    model = limited_model(0, NODES)
    extractor = LlmExtractor(
        model, ToyEmbedder(), prompts=fixed_prompt(None), split_text=split_in_half
    )
    with pytest.raises(BadTurn, match="was truncated"):
        await extractor.extract(long_turn(), [])
    assert 1 < len(model.requests) < 20


async def test_without_a_split_function_an_oversized_chunk_is_a_bad_turn() -> None:
    extractor = LlmExtractor(limited_model(1000, NODES), ToyEmbedder(), prompts=fixed_prompt(None))
    with pytest.raises(BadTurn):
        await extractor.extract(long_turn(), [])


async def test_the_usage_contains_requests_that_did_not_fit() -> None:
    model = limited_model(1500, NODES)
    _, result = await ingest(model, long_turn())
    assert result.usage.calls == len(model.requests)


async def test_entities_that_do_not_fit_one_request_are_resolved_in_halves() -> None:
    group, _ = await ingest(CannedModel(), sample_turns.episodes()[0])
    turn = replace(sample_turns.episodes()[5], chunks=("`pytest 7` and `cart` and `lite`.",))
    unlimited = CannedModel()
    together, _ = await ingest(unlimited, turn, await one_turn_group())
    (request,) = unlimited.prompts("dedupe_nodes.nodes")
    assert entity_count(request) > 1

    def respond(request: ChatRequest) -> None:
        if request.prompt_name == "dedupe_nodes.nodes" and entity_count(request) > 1:
            raise TooLong("the answer was truncated", USAGE)

    separate, _ = await ingest(CannedModel(respond), turn, group)
    assert {(e.uuid, e.name) for e in separate.entities} == {
        (e.uuid, e.name) for e in together.entities
    }


async def test_reflexion_requests_are_split_too() -> None:
    requests: list[tuple[str, int]] = []

    def respond(request: ChatRequest) -> str | None:
        if not request.prompt_name.startswith("reflexion."):
            return None
        text = request_text(request).split("<TEXT>\n")[1].split("\n</TEXT>")[0]
        requests.append((request.prompt_name, len(text)))
        if len(text) > 1000:
            raise TooLong("the answer was truncated", USAGE)
        return json.dumps({"missed_entities": [], "missed_facts": []})

    extractor = LlmExtractor(
        CannedModel(respond),
        ToyEmbedder(),
        prompts=fixed_prompt("Look.", reflexion=1),
        split_text=split_in_half,
    )
    whole, _ = await ingest(CannedModel(), long_turn())
    group = sample_turns.empty_group()
    await sample_turns.ingest(extractor, [long_turn()], group, ToyEmbedder())
    assert facts_of(group) == facts_of(whole)
    assert {prompt for prompt, length in requests if length <= 1000} == {
        "reflexion.entities",
        "reflexion.facts",
    }


async def test_an_entity_that_does_not_fit_is_resolved_with_an_abridged_text() -> None:
    def respond(request: ChatRequest) -> None:
        if request.prompt_name == "dedupe_nodes.nodes" and len(current_message(request)) > 1600:
            raise TooLong("it does not fit", USAGE)

    text = f"`pytest 7` is meant. {'It is long. ' * 400}"
    turn = replace(sample_turns.episodes()[5], chunks=(text,))
    together, _ = await ingest(CannedModel(), turn, await one_turn_group())
    model = CannedModel(respond)
    separate, result = await ingest(model, turn, await one_turn_group())
    assert {e.name for e in separate.entities} == {e.name for e in together.entities}
    assert [
        len(current_message(prompt)) > 1600 for prompt in model.prompts("dedupe_nodes.nodes")
    ] == [
        True,
        False,
    ]
    assert result.usage.calls == len(model.requests)


async def test_attributes_of_an_entity_that_do_not_fit_are_filled_from_an_abridged_text() -> None:
    kinds = Ontology({"File": "A file."}, {}, {"File": {"version": "As stated."}})
    turn = replace(
        sample_turns.episodes()[5],
        chunks=("`cart.py` uses `sqlite`. " + "It is slow. " * 300 + "`pricing.py` is new.",),
    )

    def respond(request: ChatRequest) -> dict[str, str] | None:
        if request.prompt_name != ATTRIBUTES:
            return None
        if request_text(request).count("It is slow.") > 200:
            raise TooLong("the answer was truncated", USAGE)
        return {"version": "2"}

    model, group = CannedModel(respond), sample_turns.empty_group()
    extractor = LlmExtractor(model, ToyEmbedder(), prompts=fixed_prompt(None), ontology=kinds)
    await sample_turns.ingest(extractor, [turn], group, ToyEmbedder())
    versions = {one.name: one.attributes.get("version") for one in group.entities}
    assert versions == {"cart.py": "2", "pricing.py": "2", "sqlite": None}
    assert len(model.prompts(ATTRIBUTES)) > 2


async def one_turn_group() -> MirrorGroup:
    group, _ = await ingest(CannedModel(), sample_turns.episodes()[0])
    return group


def entity_count(request: ChatRequest) -> int:
    """Return the number of new entities in the request."""
    return len(json.loads(request_text(request).split("<ENTITIES>\n")[1].split("\n</ENTITIES>")[0]))


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(tmp_path / "journal.sqlite", clock=clock.now)) as opened:
        yield opened


async def test_a_second_run_splits_from_the_journal_and_sends_nothing(journal: Journal) -> None:
    """Requests that did not fit were paid for, too."""
    model, turn = limited_model(700, NODES, EDGES), long_turn()
    journaled = JournaledModel(model, journal)
    first, first_result = await ingest(journaled, turn)
    calls = len(model.requests)
    again, second_result = await ingest(journaled, turn)
    assert len(model.requests) == calls
    assert facts_of(again) == facts_of(first)
    assert second_result.usage == first_result.usage


async def test_a_preview_splits_a_chunk_that_did_not_fit(journal: Journal) -> None:
    model, turn = limited_model(1500, NODES), long_turn()
    await ingest(JournaledModel(model, journal), turn)
    previews = await preview_requests(
        turn, [], make_extractor, model, journal=journal, estimate=len
    )
    assert [preview.prompt for preview in previews] == [NODES] * 3 + [EDGES] * (len(previews) - 3)
    assert all(preview.is_cached for preview in previews)


def make_extractor(model: ChatModel, embedder: Embedder) -> LlmExtractor:
    return LlmExtractor(model, embedder, prompts=fixed_prompt(None), split_text=split_in_half)
