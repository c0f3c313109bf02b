"""Asking again, by the kind of failure, with a clock of its own."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from graphiti_core.prompts.extract_nodes import ExtractedEntities

from tests.llm import virtual_clock
from turnetl.errors import BadTurn, ModelBusy, ModelRefused, TooLong
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse, response_schema
from turnetl.llm.retry import MAX_QUOTED, RetryingModel, RetryPolicy
from turnetl.model import Usage

GOOD = '{"extracted_entities": []}'
ASKED = ChatRequest(
    "extract_nodes.extract_message",
    (ChatMessage("system", "You extract."), ChatMessage("user", "hello " * 50)),
    response_schema(ExtractedEntities),
    16_384,
)
BUSY = ModelBusy("busy")


def said(text: str, *, tokens: int = 10, cut: bool = False, refused: bool = False) -> ChatResponse:
    return ChatResponse(
        text, 100, tokens, cut, cached_tokens=40, refused=refused, seconds=2, cost=0.5
    )


@dataclass
class Scripted:
    """Says one thing after the other, the last one for ever, and remembers when it was asked."""

    says: Sequence[ChatResponse | Exception]
    name: str = "canned/m"
    asked: list[ChatRequest] = field(default_factory=list)
    at: list[float] = field(default_factory=list)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.asked.append(request)
        self.at.append(asyncio.get_running_loop().time())
        said = self.says[min(len(self.asked), len(self.says)) - 1]
        if isinstance(said, Exception):
            raise said
        return said

    async def close(self) -> None:
        pass


def ask(model: Scripted, patience: RetryPolicy | None = None, chance: float = 1.0) -> ChatResponse:
    retried = RetryingModel(model, patience or RetryPolicy(), chance=lambda: chance)
    return virtual_clock.run(retried.complete(ASKED))


def waits(model: Scripted) -> list[float]:
    return [after - before for before, after in zip(model.at, model.at[1:], strict=False)]


def test_waits_for_a_busy_model_double() -> None:
    model = Scripted([*[BUSY] * 5, said(GOOD)])
    assert ask(model).text == GOOD
    assert waits(model) == [1, 2, 4, 8, 16]


def test_jitter_shortens_waits_so_that_calls_do_not_retry_together() -> None:
    model = Scripted([*[BUSY] * 5, said(GOOD)])
    ask(model, chance=0.0)
    assert waits(model) == [0.5, 1, 2, 4, 8]


def test_no_wait_exceeds_the_maximum() -> None:
    model = Scripted([*[BUSY] * 6, said(GOOD)])
    ask(model, RetryPolicy(attempts=7, max_wait=10))
    assert waits(model) == pytest.approx([1, 2, 4, 8, 10, 10])


def test_the_number_of_attempts_is_limited() -> None:
    model = Scripted([BUSY])
    with pytest.raises(ModelBusy, match="3 attempts failed: run the same command again later"):
        ask(model, RetryPolicy(attempts=3))
    assert len(model.asked) == 3


def test_a_hanging_model_gets_three_timeouts() -> None:
    model = Scripted([BUSY, ModelBusy("silence", timed_out=True)])
    with pytest.raises(ModelBusy, match="silence"):
        ask(model)
    assert len(model.asked) == 4


def test_a_long_wait_is_logged_as_a_warning_and_a_short_one_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ask(Scripted([*[BUSY] * 6, said(GOOD)]))
    warnings = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert warnings == ["busy; retrying after a pause"] * 2


def test_a_requested_wait_is_never_shortened() -> None:
    model = Scripted([ModelBusy("busy", 7.0), ModelBusy("busy", 0.0), BUSY, said(GOOD)])
    ask(model, chance=0.0)
    assert waits(model) == [7, 0, 2]


def test_a_requested_wait_above_the_maximum_ends_the_call() -> None:
    model = Scripted([ModelBusy("busy", 3600.0)])
    with pytest.raises(ModelBusy, match="it asks for a wait of 3,600 s") as busy:
        ask(model)
    assert busy.value.retry_after == 3600
    assert len(model.asked) == 1


@pytest.mark.parametrize("error", [ModelRefused("no key"), BadTurn("not taken"), TooLong("long")])
def test_a_permanent_error_is_not_retried(error: Exception) -> None:
    model = Scripted([error])
    with pytest.raises(type(error)):
        ask(model)
    assert len(model.asked) == 1


WRONG = {
    "prose": "Sure! Here they are.",
    "nothing": "",
    "spaces": "  \n",
    "a list": "[]",
    "half": '{"extracted_entities": [{"name"',
    "another form": '{"other": 1}',
    "two objects": f"{GOOD}\n{GOOD}",
    "not a number": '{"extracted_entities": [{"name": "a", "entity_type_id": "x"}]}',
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_an_invalid_response_is_retried_with_the_reason(wrong: str) -> None:
    model = Scripted([said(wrong), said(GOOD)])
    assert ask(model).text == GOOD
    again = model.asked[1]
    assert again.messages[:2] == ASKED.messages
    assert again.messages[2] == ChatMessage("assistant", wrong.strip() or "(no answer)")
    assert again.messages[3].role == "user"
    assert again.messages[3].text.startswith("That does not fit: ")
    assert replace(again, messages=ASKED.messages) == ASKED


def test_a_refusal_is_retried_too() -> None:
    model = Scripted([said("I cannot help.", refused=True), said(GOOD)])
    assert ask(model).text == GOOD
    assert "refusal" in model.asked[1].messages[3].text


@pytest.mark.parametrize("fenced", [f"```json\n{GOOD}\n```", f"```\n{GOOD}```", f"  {GOOD}\n"])
def test_a_markdown_fence_is_stripped(fenced: str) -> None:
    model = Scripted([said(fenced)])
    assert ask(model).text == GOOD


def test_the_usage_includes_all_invalid_responses() -> None:
    answer = ask(Scripted([said("no", tokens=7), said("no"), BUSY, said(GOOD, tokens=3)]))
    usage = Usage(3, 300, 20, cost=1.5, cached_tokens=120, seconds=6)
    assert answer.usage == usage


def test_only_the_last_invalid_response_is_quoted() -> None:
    model = Scripted([said("first"), said("second"), said(GOOD)])
    ask(model)
    assert [one.text for one in model.asked[2].messages if one.role == "assistant"] == ["second"]


def test_only_the_start_of_a_long_invalid_response_is_quoted() -> None:
    model = Scripted([said("word " * 9_000), said(GOOD)])
    ask(model)
    assert len(model.asked[1].messages[2].text) <= MAX_QUOTED


def test_only_invalid_responses_make_a_bad_turn() -> None:
    model = Scripted([said("no")])
    with pytest.raises(BadTurn, match="`canned/m` answered `extract_nodes") as bad:
        ask(model)
    assert bad.value.usage.calls == len(model.asked) == 5
    assert bad.value.usage.prompt_tokens == 500


def test_long_invalid_responses_are_retried_once() -> None:
    model = Scripted([said("no", tokens=12_000)])
    with pytest.raises(BadTurn):
        ask(model)
    assert len(model.asked) == 2


def test_a_truncated_response_is_too_long_and_not_retried() -> None:
    model = Scripted([said('{"extracted', tokens=16_384, cut=True)])
    with pytest.raises(TooLong, match="truncated after 16,384 tokens") as cut:
        ask(model)
    assert len(model.asked) == 1
    assert cut.value.usage.completion_tokens == 16_384


@pytest.mark.parametrize("last", [said("{", cut=True), BadTurn("not taken")])
def test_an_error_after_an_invalid_response_counts_both(last: ChatResponse | Exception) -> None:
    with pytest.raises(BadTurn) as bad:
        ask(Scripted([said("no"), last]))
    assert bad.value.usage.prompt_tokens == (200 if isinstance(last, ChatResponse) else 100)


@pytest.mark.parametrize(
    ("entities", "says"),
    [
        ([{"name": f"n{i}", "entity_type_id": 0} for i in range(10_000)], "10,000 entries"),
        ([{"name": "n" * 5_000, "entity_type_id": 0}], "5,000 characters"),
    ],
)
def test_an_implausibly_large_response_is_retried(
    entities: list[dict[str, object]], says: str
) -> None:
    model = Scripted([said(str({"extracted_entities": entities}).replace("'", '"')), said(GOOD)])
    assert ask(model).text == GOOD
    assert says in model.asked[1].messages[3].text


@pytest.mark.parametrize("depth", [60, 700, 980])
def test_deeply_nested_lists_do_not_crash(depth: int) -> None:
    deep = '{"names": ' + "[" * depth + "]" * depth + "}"
    model = Scripted([said(deep), said(GOOD)])
    assert ask(model).text == GOOD
    assert "nested too deeply" in model.asked[1].messages[-1].text


def test_a_fence_full_of_whitespace_is_parsed_quickly() -> None:
    model = Scripted([said("```" + " \n" * 50_000 + "x"), said(GOOD)])
    assert ask(model).text == GOOD


def test_deeply_nested_objects_do_not_crash() -> None:
    model = Scripted([said('{"a":' * 100_000), said(GOOD)])
    assert ask(model).text == GOOD


def test_a_call_cancelled_during_a_wait_sends_no_further_request() -> None:
    model = Scripted([BUSY])

    async def cancelled() -> None:
        asking = asyncio.create_task(
            RetryingModel(model, RetryPolicy(), chance=lambda: 1.0).complete(ASKED)
        )
        await asyncio.sleep(2)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.sleep(100)

    virtual_clock.run(cancelled())
    assert len(model.asked) == 2
