"""What names and summarises communities: rules and a model keep the same contract."""

import json
import re
from collections.abc import Callable

import pytest

from tests.fakes.models import FakeModel
from tests.summaries.groups import ZOO, clique, entities, facts
from turnetl.base.errors import ModelBusy, ModelUnusable
from turnetl.llm.chat import PROMPTS, ChatRequest, ChatResponse
from turnetl.summaries.communities import (
    CommunityInput,
    CommunityText,
    CommunityWriter,
    RuleCommunityWriter,
    plan_communities,
    rule_text,
)
from turnetl.summaries.community_naming import (
    PROMPT,
    ModelCommunityWriter,
    estimate_usage,
)
from turnetl.summaries.model_summariser import PER_REQUEST
from turnetl.summaries.rule_summary import MAX_CHARS


def communities(count: int) -> tuple[CommunityInput, ...]:
    """Return communities of three entities each."""
    letters = [chr(0x100 + number) for number in range(3 * count)]
    groups = ["".join(letters[start : start + 3]) for start in range(0, len(letters), 3)]
    pairs = [pair for group in groups for pair in clique(group)]
    plan = plan_communities(ZOO, entities(letters), facts(*pairs), [])
    assert len(plan.missing) == count
    return plan.missing


def answering(answer: Callable[[list[int]], object]) -> FakeModel:
    """Return a model that answers from the numbers of the communities in the request."""

    async def respond(request: ChatRequest) -> ChatResponse:
        numbers = re.findall(r"^Community (\d+), ", request.messages[-1].text, re.MULTILINE)
        found = answer([int(number) for number in numbers])
        if isinstance(found, Exception):
            raise found
        text = found if isinstance(found, str) else json.dumps({"communities": found})
        return ChatResponse(text, 100, 10, truncated=False)

    return FakeModel(respond)


def described(numbers: list[int]) -> object:
    return [
        {"number": number, "name": f"name {number}", "summary": f"about {number}"}
        for number in numbers
    ]


WRITERS: dict[str, Callable[[], CommunityWriter]] = {
    "rules": RuleCommunityWriter,
    "model": lambda: ModelCommunityWriter(answering(described)),
    "model without answers": lambda: ModelCommunityWriter(answering(lambda _: [])),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("count", [0, 1, 20])
async def test_every_community_gets_a_name_and_a_bounded_summary(name: str, count: int) -> None:
    texts = await WRITERS[name]().describe(communities(count))
    assert len(texts) == count
    assert all(text.name and text.summary for text in texts)
    assert all(len(text.summary) <= MAX_CHARS for text in texts)


@pytest.mark.parametrize("name", WRITERS)
async def test_the_same_communities_get_the_same_texts(name: str) -> None:
    assert await WRITERS[name]().describe(communities(3)) == await WRITERS[name]().describe(
        communities(3)
    )


async def test_a_request_describes_several_communities() -> None:
    model = answering(described)
    texts = await ModelCommunityWriter(model).describe(communities(2 * PER_REQUEST + 1))
    assert [request.prompt_name for request in model.requests] == [PROMPT] * 3
    assert texts[PER_REQUEST] == texts[0] == CommunityText("name 1", "about 1")
    assert PROMPT in PROMPTS


@pytest.mark.parametrize(
    "answer",
    [
        lambda numbers: described(numbers[1:]),
        lambda numbers: [{"number": 1, "name": "  ", "summary": "x"}, *described(numbers[1:])],  # type: ignore[misc]
        lambda _: [{"number": 77, "name": "x", "summary": "x"}],
    ],
)
async def test_what_the_model_does_not_describe_is_described_by_rules(
    answer: Callable[[list[int]], object],
) -> None:
    given = communities(2)
    writer = ModelCommunityWriter(answering(answer))
    texts = await writer.describe(given)
    assert texts[0] == rule_text(given[0])
    assert writer.missing == sum(
        text == rule_text(one) for text, one in zip(texts, given, strict=True)
    )


@pytest.mark.parametrize("answer", ["no JSON", '{"communities": 7}'])
async def test_an_invalid_response_is_replaced_by_rules(answer: str) -> None:
    given = communities(2)
    writer = ModelCommunityWriter(answering(lambda _: answer))
    assert list(await writer.describe(given)) == list(map(rule_text, given))
    assert writer.missing == 2


@pytest.mark.parametrize("error", [ModelBusy("no response"), ModelUnusable("no key")])
async def test_a_model_that_fails_ends_the_build(error: Exception) -> None:
    with pytest.raises(type(error)):
        await ModelCommunityWriter(answering(lambda _: error)).describe(communities(1))


async def test_a_long_text_of_the_model_is_cut_and_becomes_one_line() -> None:
    long = [{"number": 1, "name": "a\nb " * 500, "summary": "c\n" * 5_000}]
    [text] = await ModelCommunityWriter(answering(lambda _: long)).describe(communities(1))
    assert text.name.startswith("a b a b")
    assert len(text.name) <= 100
    assert len(text.summary) <= MAX_CHARS
    assert "\n" not in text.name + text.summary


async def test_a_request_is_bounded_whatever_the_community_holds() -> None:
    letters = [chr(0x100 + number) for number in range(60)]
    of_facts = facts(*clique("".join(letters)))
    plan = plan_communities(ZOO, entities(letters), of_facts, [])
    model = answering(described)
    await ModelCommunityWriter(model).describe(plan.missing)
    assert sum(request.characters for request in model.requests) < 20_000


def test_the_estimate_counts_the_requests() -> None:
    assert estimate_usage(communities(PER_REQUEST + 1), None).calls == 2
    assert estimate_usage((), None).calls == 0
