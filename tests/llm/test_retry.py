"""Retries by kind of failure, on a virtual clock."""

import asyncio
from dataclasses import replace

import pytest
from graphiti_core.prompts.extract_nodes import ExtractedEntities

from tests.fakes.models import FakeModel, scripted
from tests.llm import virtual_clock
from turnetl.base.errors import BadTurn, ModelBusy, ModelUnusable, TooLong
from turnetl.base.model import Usage
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse, response_schema
from turnetl.llm.retry import MAX_QUOTED, RetryingModel, RetryPolicy

VALID = '{"extracted_entities": []}'
REQUEST = ChatRequest(
    "extract_nodes.extract_message",
    (ChatMessage("system", "You extract."), ChatMessage("user", "hello " * 50)),
    response_schema(ExtractedEntities),
    16_384,
)
BUSY = ModelBusy("busy")


def response(
    text: str, *, tokens: int = 10, truncated: bool = False, refused: bool = False
) -> ChatResponse:
    return ChatResponse(
        text, 100, tokens, truncated, cached_tokens=40, refused=refused, seconds=2, cost=0.5
    )


def complete(
    model: FakeModel, retry_policy: RetryPolicy | None = None, fraction: float = 1.0
) -> ChatResponse:
    retrying = RetryingModel(model, retry_policy or RetryPolicy(), random_fraction=lambda: fraction)
    return virtual_clock.run(retrying.complete(REQUEST))


def waits(model: FakeModel) -> list[float]:
    return [after - before for before, after in zip(model.times, model.times[1:], strict=False)]


def test_waits_for_a_busy_model_double() -> None:
    model = scripted([*[BUSY] * 5, response(VALID)])
    assert complete(model).text == VALID
    assert waits(model) == [1, 2, 4, 8, 16]


def test_jitter_shortens_waits_so_that_calls_do_not_retry_together() -> None:
    model = scripted([*[BUSY] * 5, response(VALID)])
    complete(model, fraction=0.0)
    assert waits(model) == [0.5, 1, 2, 4, 8]


def test_no_wait_exceeds_the_maximum() -> None:
    model = scripted([*[BUSY] * 6, response(VALID)])
    complete(model, RetryPolicy(attempts=7, max_wait=10))
    assert waits(model) == pytest.approx([1, 2, 4, 8, 10, 10])


def test_the_number_of_attempts_is_limited() -> None:
    model = scripted([BUSY])
    with pytest.raises(ModelBusy, match="3 attempts failed: run the same command again later"):
        complete(model, RetryPolicy(attempts=3))
    assert len(model.requests) == 3


def test_a_hanging_model_gets_three_timeouts() -> None:
    model = scripted([BUSY, ModelBusy("silence", timed_out=True)])
    with pytest.raises(ModelBusy, match=r"silence; 4 attempts .* `llm.timeout_seconds`"):
        complete(model)
    assert len(model.requests) == 4


def test_a_long_wait_is_logged_as_a_warning_and_a_short_one_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    complete(scripted([*[BUSY] * 6, response(VALID)]))
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == ["busy; retrying after a pause"] * 2


def test_a_requested_wait_is_never_shortened() -> None:
    model = scripted([ModelBusy("busy", 7.0), ModelBusy("busy", 0.0), BUSY, response(VALID)])
    complete(model, fraction=0.0)
    assert waits(model) == [7, 0, 2]


def test_a_requested_wait_above_the_maximum_ends_the_call() -> None:
    model = scripted([ModelBusy("busy", 3600.0)])
    with pytest.raises(ModelBusy, match="it asks for a wait of 3,600 s") as busy:
        complete(model)
    assert busy.value.retry_after == 3600
    assert len(model.requests) == 1


@pytest.mark.parametrize("error", [ModelUnusable("no key"), BadTurn("not taken"), TooLong("long")])
def test_a_permanent_error_is_not_retried(error: Exception) -> None:
    model = scripted([error])
    with pytest.raises(type(error)):
        complete(model)
    assert len(model.requests) == 1


INVALID = {
    "prose": "Sure! Here they are.",
    "nothing": "",
    "spaces": "  \n",
    "a list": "[]",
    "half": '{"extracted_entities": [{"name"',
    "another form": '{"other": 1}',
    "two objects": f"{VALID}\n{VALID}",
    "not a number": '{"extracted_entities": [{"name": "a", "entity_type_id": "x"}]}',
}


@pytest.mark.parametrize("text", INVALID.values(), ids=INVALID.keys())
def test_an_invalid_response_is_retried_with_the_reason(text: str) -> None:
    model = scripted([response(text), response(VALID)])
    assert complete(model).text == VALID
    repeated = model.requests[1]
    assert repeated.messages[:2] == REQUEST.messages
    assert repeated.messages[2] == ChatMessage("assistant", text.strip() or "(empty response)")
    assert repeated.messages[3].role == "user"
    assert repeated.messages[3].text.startswith("The response is invalid: ")
    assert replace(repeated, messages=REQUEST.messages) == REQUEST


def test_a_refusal_is_retried_too() -> None:
    model = scripted([response("I cannot help.", refused=True), response(VALID)])
    assert complete(model).text == VALID
    assert "refusal" in model.requests[1].messages[3].text


@pytest.mark.parametrize("fenced", [f"```json\n{VALID}\n```", f"```\n{VALID}```", f"  {VALID}\n"])
def test_a_markdown_fence_is_stripped(fenced: str) -> None:
    model = scripted([response(fenced)])
    assert complete(model).text == VALID


def test_the_usage_includes_all_invalid_responses() -> None:
    result = complete(
        scripted([response("no", tokens=7), response("no"), BUSY, response(VALID, tokens=3)])
    )
    usage = Usage(3, 300, 20, cost=1.5, cached_tokens=120, seconds=6)
    assert result.usage == usage


def test_only_the_last_invalid_response_is_quoted() -> None:
    model = scripted([response("first"), response("second"), response(VALID)])
    complete(model)
    assert [record.text for record in model.requests[2].messages if record.role == "assistant"] == [
        "second"
    ]


def test_only_the_start_of_a_long_invalid_response_is_quoted() -> None:
    model = scripted([response("word " * 9_000), response(VALID)])
    complete(model)
    assert len(model.requests[1].messages[2].text) <= MAX_QUOTED


def test_only_invalid_responses_make_a_bad_turn() -> None:
    model = scripted([response("no")])
    with pytest.raises(
        BadTurn, match="`canned/m` returned 5 invalid responses to `extract_nodes"
    ) as raised:
        complete(model)
    assert raised.value.usage.calls == len(model.requests) == 5
    assert raised.value.usage.prompt_tokens == 500


def test_long_invalid_responses_are_retried_once() -> None:
    model = scripted([response("no", tokens=12_000)])
    with pytest.raises(BadTurn):
        complete(model)
    assert len(model.requests) == 2


def test_a_truncated_response_is_too_long_and_not_retried() -> None:
    model = scripted([response('{"extracted', tokens=16_384, truncated=True)])
    with pytest.raises(TooLong, match="truncated after 16,384 tokens") as truncated:
        complete(model)
    assert len(model.requests) == 1
    assert truncated.value.usage.completion_tokens == 16_384


@pytest.mark.parametrize("last", [response("{", truncated=True), BadTurn("not taken")])
def test_an_error_after_an_invalid_response_counts_both(last: ChatResponse | Exception) -> None:
    with pytest.raises(BadTurn) as raised:
        complete(scripted([response("no"), last]))
    assert raised.value.usage.prompt_tokens == (200 if isinstance(last, ChatResponse) else 100)


@pytest.mark.parametrize(
    ("entities", "script"),
    [
        ([{"name": f"n{i}", "entity_type_id": 0} for i in range(10_000)], "10,000 entries"),
        ([{"name": "n" * 5_000, "entity_type_id": 0}], "5,000 characters"),
    ],
)
def test_an_implausibly_large_response_is_retried(
    entities: list[dict[str, object]], script: str
) -> None:
    model = scripted(
        [response(str({"extracted_entities": entities}).replace("'", '"')), response(VALID)]
    )
    assert complete(model).text == VALID
    assert script in model.requests[1].messages[3].text


@pytest.mark.parametrize("depth", [60, 700, 980])
def test_deeply_nested_lists_do_not_crash(depth: int) -> None:
    nested = '{"names": ' + "[" * depth + "]" * depth + "}"
    model = scripted([response(nested), response(VALID)])
    assert complete(model).text == VALID
    assert "nested too deeply" in model.requests[1].messages[-1].text


def test_a_fence_full_of_whitespace_is_parsed_quickly() -> None:
    model = scripted([response("```" + " \n" * 50_000 + "x"), response(VALID)])
    assert complete(model).text == VALID


def test_deeply_nested_objects_do_not_crash() -> None:
    model = scripted([response('{"a":' * 100_000), response(VALID)])
    assert complete(model).text == VALID


def test_a_call_cancelled_during_a_wait_sends_no_further_request() -> None:
    model = scripted([BUSY])

    async def cancelled() -> None:
        task = asyncio.create_task(
            RetryingModel(model, RetryPolicy(), random_fraction=lambda: 1.0).complete(REQUEST)
        )
        await asyncio.sleep(2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(100)

    virtual_clock.run(cancelled())
    assert len(model.requests) == 2
