"""Parts that do not fit: cut in two where a reader would pause, and again, until they do."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.extraction import sample_turns
from tests.extraction.canned_model import Canned, shown
from tests.servers.toy_embedder import ToyEmbedder
from turnetl import clock
from turnetl.episodes.chunking import split_in_half
from turnetl.errors import BadTurn, TooLong
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.port import Resolved
from turnetl.extraction.preview_builder import preview_requests
from turnetl.extraction.prompt_config import fixed_prompt
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.llm.chat import ChatModel, ChatRequest
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.journal import Journal, JournaledModel
from turnetl.model import Episode, Usage

NODES, EDGES = "extract_nodes.extract_message", "extract_edges.edge"
SUMMARIES = "extract_nodes.extract_summaries_batch"
CUT = Usage(calls=1, prompt_tokens=100, completion_tokens=10)


def long_turn(times: int = 4) -> Episode:
    """The story as one part, each turn of it a paragraph."""
    text = "\n\n".join([said.text for said in sample_turns.episodes()] * times)
    return replace(sample_turns.episodes()[0], text=text, parts=(text,))


def only(characters: int, *prompts: str) -> Canned:
    """A model that takes texts of so many characters."""

    def say(question: ChatRequest) -> None:
        if question.prompt_name in prompts and len(current(question)) > characters:
            raise TooLong("the answer was cut", CUT)

    return Canned(say)


def current(question: ChatRequest) -> str:
    """Return the text that the question is about."""
    said = shown(question)
    for name in ("CURRENT MESSAGE", "CURRENT_MESSAGE"):
        if f"<{name}>" in said:
            return said.split(f"<{name}>\n")[1].split(f"\n</{name}>")[0]
    return ""


async def read(
    model: ChatModel, turn: Episode, group: MirrorGroup | None = None
) -> tuple[MirrorGroup, Resolved]:
    group = group or sample_turns.empty_group()
    asks = reader(model, ToyEmbedder())
    (result,) = await sample_turns.take_in(asks, [turn], group, ToyEmbedder())
    return group, result


def said(group: MirrorGroup) -> set[tuple[str, str, str]]:
    names = {entity.uuid: entity.name for entity in group.entities}
    return {(names[fact.source], fact.text, names[fact.target]) for fact in group.facts}


@pytest.mark.parametrize("prompts", [(NODES,), (EDGES,), (NODES, EDGES)])
@pytest.mark.parametrize("characters", [1200, 600])
async def test_a_part_in_pieces_says_what_it_says_whole(
    prompts: tuple[str, ...], characters: int
) -> None:
    turn = long_turn()
    whole, _ = await read(Canned(), turn)
    pieces, _ = await read(only(characters, *prompts), turn)
    assert said(pieces) == said(whole)
    assert {(one.uuid, one.name) for one in pieces.entities} == {
        (one.uuid, one.name) for one in whole.entities
    }
    assert {fact.uuid for fact in pieces.facts} == {fact.uuid for fact in whole.facts}


async def test_what_is_asked_about_things_is_not_asked_again_when_only_facts_do_not_fit() -> None:
    model = only(700, EDGES)
    await read(model, long_turn())
    assert len(model.prompts(NODES)) == 1
    assert len(model.prompts(EDGES)) > 2


async def test_a_piece_is_shown_what_stands_before_it() -> None:
    model = only(1500, NODES)
    await read(model, long_turn())
    _, first, second = model.prompts(NODES)
    earlier = shown(second).split("<PREVIOUS MESSAGES>")[1].split("</PREVIOUS MESSAGES>")[0]
    assert current(first)[:30] in earlier


async def test_a_part_that_fits_in_no_piece_is_set_aside() -> None:
    model = only(0, NODES)
    asks = LlmExtractor(model, ToyEmbedder(), prompts=fixed_prompt(None), split_text=split_in_half)
    with pytest.raises(BadTurn, match="was cut"):
        await asks.extract(long_turn(), [])
    assert 1 < len(model.asked) < 20


async def test_without_a_way_to_cut_it_a_part_is_set_aside() -> None:
    asks = LlmExtractor(only(1000, NODES), ToyEmbedder(), prompts=fixed_prompt(None))
    with pytest.raises(BadTurn):
        await asks.extract(long_turn(), [])


async def test_questions_that_did_not_fit_are_counted_too() -> None:
    model = only(1500, NODES)
    _, result = await read(model, long_turn())
    assert result.usage.calls == len(model.asked)


async def test_things_that_cannot_be_matched_at_once_are_matched_in_halves() -> None:
    group, _ = await read(Canned(), sample_turns.episodes()[0])
    turn = replace(sample_turns.episodes()[5], parts=("`pytest 7` and `cart` and `lite`.",))
    plain = Canned()
    together, _ = await read(plain, turn, await grown())
    (asked,) = plain.prompts("dedupe_nodes.nodes")
    assert asked_about(asked) > 1

    def say(question: ChatRequest) -> None:
        if question.prompt_name == "dedupe_nodes.nodes" and asked_about(question) > 1:
            raise TooLong("the answer was cut", CUT)

    apart, _ = await read(Canned(say), turn, group)
    assert {(e.uuid, e.name) for e in apart.entities} == {
        (e.uuid, e.name) for e in together.entities
    }


async def test_what_was_missed_is_asked_about_in_pieces_too() -> None:
    asked: list[tuple[str, int]] = []

    def say(question: ChatRequest) -> str | None:
        if not question.prompt_name.startswith("reflexion."):
            return None
        text = shown(question).split("<TEXT>\n")[1].split("\n</TEXT>")[0]
        asked.append((question.prompt_name, len(text)))
        if len(text) > 1000:
            raise TooLong("the answer was cut", CUT)
        return json.dumps({"missed_entities": [], "missed_facts": []})

    asks = LlmExtractor(
        Canned(say),
        ToyEmbedder(),
        prompts=fixed_prompt("Look.", reflexion=1),
        split_text=split_in_half,
    )
    whole, _ = await read(Canned(), long_turn())
    group = sample_turns.empty_group()
    await sample_turns.take_in(asks, [long_turn()], group, ToyEmbedder())
    assert said(group) == said(whole)
    assert {prompt for prompt, length in asked if length <= 1000} == {
        "reflexion.entities",
        "reflexion.facts",
    }


async def test_a_thing_that_is_not_matched_with_all_of_the_text_is_matched_with_less() -> None:
    def say(question: ChatRequest) -> None:
        if question.prompt_name == "dedupe_nodes.nodes" and len(current(question)) > 1600:
            raise TooLong("it does not fit", CUT)

    text = f"`pytest 7` is told. {'It is long. ' * 400}"
    turn = replace(sample_turns.episodes()[5], parts=(text,))
    together, _ = await read(Canned(), turn, await grown())
    model = Canned(say)
    apart, result = await read(model, turn, await grown())
    assert {e.name for e in apart.entities} == {e.name for e in together.entities}
    assert [len(current(one)) > 1600 for one in model.prompts("dedupe_nodes.nodes")] == [
        True,
        False,
    ]
    assert result.usage.calls == len(model.asked)


async def test_things_that_cannot_be_summed_up_at_once_are_summed_up_in_halves() -> None:
    long = " ".join(["sqlite is slow"] * 140)
    names = ("cart.py", "sqlite", "pytest -q")
    turn = replace(sample_turns.episodes()[5], parts=("`cart.py` uses `sqlite`. `pytest -q` is.",))

    async def known() -> MirrorGroup:
        group = await grown()
        group.put([replace(e, summary=long) for e in group.entities if e.name in names[:2]], ())
        return group

    def say(question: ChatRequest) -> str | None:
        if question.prompt_name != SUMMARIES:
            return None
        if len(current(question)) > 1600 or shown(question).count('"summary"') > 1:
            raise TooLong("the answer was cut", CUT)
        return None

    together, _ = await read(Canned(), turn, await known())
    model = Canned(say)
    apart, _ = await read(model, turn, await known())
    assert {(e.name, e.summary) for e in apart.entities} == {
        (e.name, e.summary) for e in together.entities
    }
    assert len(model.prompts(SUMMARIES)) > 2


async def grown() -> MirrorGroup:
    group, _ = await read(Canned(), sample_turns.episodes()[0])
    return group


def asked_about(question: ChatRequest) -> int:
    """Return how many new things the question is about."""
    return len(json.loads(shown(question).split("<ENTITIES>\n")[1].split("\n</ENTITIES>")[0]))


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(tmp_path / "journal.sqlite", clock=clock.now)) as opened:
        yield opened


async def test_a_run_that_is_done_again_cuts_at_once_and_asks_nothing(journal: Journal) -> None:
    """Questions that did not fit were paid for, too."""
    model, turn = only(700, NODES, EDGES), long_turn()
    asked = JournaledModel(model, journal)
    first, told = await read(asked, turn)
    calls = len(model.asked)
    again, told_again = await read(asked, turn)
    assert len(model.asked) == calls
    assert said(again) == said(first)
    assert told_again.usage == told.usage


async def test_a_part_that_did_not_fit_is_shown_in_pieces_before_a_run(journal: Journal) -> None:
    model, turn = only(1500, NODES), long_turn()
    await read(JournaledModel(model, journal), turn)
    shown = await preview_requests(turn, [], reader, model, journal=journal, estimate=len)
    assert [one.prompt for one in shown] == [NODES] * 3 + [EDGES] * (len(shown) - 3)
    assert all(one.is_cached for one in shown)


def reader(model: ChatModel, embedder: Embedder) -> LlmExtractor:
    return LlmExtractor(model, embedder, prompts=fixed_prompt(None), split_text=split_in_half)
