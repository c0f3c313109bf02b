"""Questions that turns answer: where an index keeps them, and that they find their turns."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.builders import GROUP
from tests.fakes.followed_graphs import LoadedGraph
from tests.fakes.models import FakeModel
from tests.index.checkout_graph import SESSION, TEXTS, follow, graph, with_term
from tests.index.indexed_shop import EMBEDDER, NOW, receipt, turn
from turnetl.base.errors import BadTurn, ModelBusy
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import TurnId
from turnetl.index.conditions import Selection
from turnetl.index.files import IndexEmbedder
from turnetl.index.persistent import PersistentIndex, replace_index
from turnetl.index.port import Field
from turnetl.index.questions import add_questions, estimate_questions, write_questions
from turnetl.llm.chat import ChatRequest, ChatResponse
from turnetl.llm.prices import Price
from turnetl.llm.vectors import unpack

QUESTION = "How do we handle walruses in Oslo?"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PersistentIndex]:
    opened = PersistentIndex(tmp_path / "index", EMBEDDER.name, EMBEDDER.dimensions)
    yield opened
    opened.close()


def asked(
    questions: Callable[[str], Sequence[str] | Exception | str],
) -> FakeModel:
    """Return a model that answers with questions, a text, or an error, by the prompt."""

    async def respond(request: ChatRequest) -> ChatResponse:
        await asyncio.sleep(0)
        result = questions(request.messages[-1].text)
        if isinstance(result, Exception):
            raise result
        text = result if isinstance(result, str) else json.dumps({"questions": list(result)})
        return ChatResponse(text, 100, 10, truncated=False)

    return FakeModel(respond)


ABOUT_TAX = asked(lambda prompt: [QUESTION] if "Norway" in prompt else [])


async def add(index: PersistentIndex, model: FakeModel) -> tuple[int, int]:
    return await add_questions(index, EMBEDDER, model, lambda _done, _total: None)


def found(index: PersistentIndex, term: str) -> set[TurnId]:
    return with_term(index, term, Field.PASSAGE)


async def test_a_question_finds_its_turn_by_its_words_its_vector_and_its_tokens(
    index: PersistentIndex,
) -> None:
    await follow(index, *TEXTS)
    (vector,) = await EMBEDDER.embed([QUESTION])
    before = index.similarities(unpack(vector), None, limit=1)
    passages = len(index.passage_tokens(index.select(Selection())).keys)
    assert await add(index, ABOUT_TAX) == (3, 0)
    assert found(index, "walruse") | found(index, "walrus") == {turn("tax")}
    ((key, cosine),) = index.similarities(unpack(vector), None, limit=1).items()
    assert index.turns([key])[key].receipt.turn_id == turn("tax")
    assert cosine == pytest.approx(1, abs=0.01)
    assert cosine > max(before.values(), default=0)
    assert len(index.passage_tokens(index.select(Selection())).keys) == passages + 1


@pytest.mark.full
async def test_every_turn_is_asked_about_once(index: PersistentIndex) -> None:
    await follow(index, "cart", "tax")
    assert await add(index, ABOUT_TAX) == (2, 0)
    model = asked(lambda _: [])
    assert await add(index, model) == (0, 0)
    await follow(index, *TEXTS)
    assert index.status().turns_with_questions == 2
    assert await add(index, model) == (1, 0)
    assert len(model.requests) == 1


async def test_turns_keep_their_facts_and_their_order(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    await add(index, ABOUT_TAX)
    keys = index.select(Selection()).tolist()
    held = index.turns(keys)
    assert [held[key].text for key in keys] == list(TEXTS.values())
    facts = index.facts(keys)
    assert [len(facts[key]) for key in keys] == [0, 1, 0]
    assert index.select(Selection(file="tax_rates.py")).tolist() == [keys[1]]
    assert (await follow(index, *TEXTS)).added == 0


async def test_a_turn_that_is_committed_again_with_its_text_keeps_its_questions(
    index: PersistentIndex,
) -> None:
    await follow(index, "cart", "tax")
    await add(index, ABOUT_TAX)
    assert (await follow(index, "cart", "docs", "tax")).added == 2
    assert found(index, "oslo") == {turn("tax")}
    [docs] = index.turns(index.turns_without_questions().tolist()).values()
    assert docs.receipt.turn_id == turn("docs")


async def test_questions_leave_with_the_text_that_they_are_about(index: PersistentIndex) -> None:
    await follow(index, "cart", "tax")
    await add(index, ABOUT_TAX)
    contents = GroupContents(
        group_id=GROUP,
        profile=None,
        entities=(SESSION,),
        facts=(),
        receipts=(receipt("cart", 0), receipt("docs", 2), receipt("tax", 1)),
        texts={turn("tax"): "user: something else"},
    )
    await index.catch_up(LoadedGraph(contents), EMBEDDER, now=NOW)
    assert found(index, "oslo") == set()
    left = index.turns(index.turns_without_questions().tolist()).values()
    texts = {one.receipt.turn_id: one.text for one in left}
    assert texts == {turn("tax"): "user: something else", turn("docs"): ""}


async def test_questions_leave_with_their_turn(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    await add(index, ABOUT_TAX)
    await follow(index, "cart", "docs")
    assert found(index, "oslo") == set()
    assert index.status().turns_with_questions == 2


async def test_a_rebuilt_index_takes_over_the_questions(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    await add(index, ABOUT_TAX)
    replace_index(index.status().path, IndexEmbedder(EMBEDDER.name, EMBEDDER.dimensions))
    rebuilt = PersistentIndex(index.status().path, EMBEDDER.name, EMBEDDER.dimensions)
    assert rebuilt.status().turns_with_questions == 0
    await rebuilt.catch_up(graph(*TEXTS), EMBEDDER, now=NOW)
    assert found(rebuilt, "oslo") == {turn("tax")}
    assert rebuilt.turns_without_questions().tolist() == []
    rebuilt.close()


async def test_an_unknown_turn_is_ignored(index: PersistentIndex) -> None:
    await follow(index, "cart")
    await index.add_questions({99: [QUESTION]}, EMBEDDER)
    assert index.status().turns_with_questions == 0


async def test_an_invalid_response_costs_its_turn_only_and_is_asked_for_again(
    index: PersistentIndex,
) -> None:
    await follow(index, *TEXTS)
    model = asked(lambda prompt: "no JSON" if "Norway" in prompt else [QUESTION])
    assert await add(index, model) == (2, 1)
    assert await add(index, ABOUT_TAX) == (1, 0)


async def test_what_was_written_before_a_failure_is_in_the_index(index: PersistentIndex) -> None:
    await follow(index, *TEXTS)
    failing = asked(lambda prompt: ModelBusy("overloaded") if "README" in prompt else [QUESTION])
    with pytest.raises(ModelBusy):
        await add(index, failing)
    assert found(index, "oslo") == {turn("cart"), turn("tax")}
    assert len(index.turns_without_questions()) == 1


async def test_at_most_three_different_questions_of_a_bounded_length_are_kept() -> None:
    model = asked(lambda _: [" What\nnow? ", "What now?", "", "b" * 900, "c", "d"])
    questions = await write_questions(model, "user: hello")
    assert questions == ("What now?", "b" * 300, "c")


async def test_of_a_long_turn_the_beginning_and_the_end_are_sent() -> None:
    model = asked(lambda _: [])
    await write_questions(model, f"user: begin {'x' * 100_000} the end")
    (request,) = model.requests
    assert request.prompt_name == "index.questions"
    assert request.characters < 14_000
    assert "user: begin" in request.messages[-1].text
    assert "the end\n</TURN>" in request.messages[-1].text


@pytest.mark.parametrize("text", ["[]", "{}", '{"questions": "one"}', "no JSON"])
async def test_another_response_is_reported_with_the_prompt(text: str) -> None:
    with pytest.raises(BadTurn, match=r"invalid response to `index\.questions`"):
        await write_questions(asked(lambda _: text), "user: hello")


def test_the_estimate_counts_requests_tokens_and_cost() -> None:
    estimate = estimate_questions(
        TEXTS.values(), model="a/b", price=Price(1.0, cached_input=1.0, output=2.0)
    )
    assert (estimate.turns, estimate.usage.calls) == (3, 3)
    tokens = estimate.usage.prompt_tokens + 2 * estimate.usage.completion_tokens
    assert estimate.usage.cost == pytest.approx(tokens / 1_000_000)
    assert estimate_questions(TEXTS.values(), model="a/b", price=None).usage.cost is None
    assert estimate_questions([], model="a/b", price=None).usage.cost == 0
