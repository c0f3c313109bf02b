"""Error responses of a provider, over real HTTP, one attempt per request."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator

import pytest

from tests.llm.conftest import OpenModel
from tests.llm.test_providers import REQUEST
from tests.servers.provider import KEY, FakeProvider, Fault
from turnetl.base.errors import BadTurn, BadUsage, ModelBusy, ModelUnusable, TooLong, TurnetlError
from turnetl.llm.chat import ChatModel
from turnetl.llm.http import Timeouts
from turnetl.llm.providers.registry import PROVIDERS, open_model


@pytest.fixture(params=PROVIDERS)
async def http_model(
    request: pytest.FixtureRequest, provider: FakeProvider
) -> AsyncIterator[ChatModel]:
    opened = open_model(
        request.param,
        model="canned",
        base_url=provider.base_url(request.param),
        api_key=KEY,
        timeouts=Timeouts(total=5, connect=5),
    )
    yield opened
    await opened.close()


async def failure_of(model: ChatModel, provider: FakeProvider, fault: Fault) -> TurnetlError:
    """Return the exception for the fault, of one request."""
    error = await error_of(model, provider, fault)
    assert len(provider.requests) == 1, "one attempt per request"
    return error


async def error_of(model: ChatModel, provider: FakeProvider, fault: Fault) -> TurnetlError:
    provider.faults = [fault]
    with pytest.raises(TurnetlError) as raised:
        await model.complete(REQUEST)
    assert KEY not in str(raised.value)
    return raised.value


def error_body(message: str, **details: object) -> str:
    return json.dumps({"error": {"message": message, **details}})


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
async def test_a_transient_status_is_busy(
    http_model: ChatModel, provider: FakeProvider, status: int
) -> None:
    error = await failure_of(http_model, provider, Fault(status, error_body(f"no {KEY}")))
    assert type(error) is ModelBusy
    assert "canned" in str(error)
    assert "127.0.0.1" in str(error)
    assert not error.timed_out
    assert error.retry_after is None


@pytest.mark.parametrize("delivery", ["dropped", "half"])
async def test_a_broken_connection_is_busy(
    http_model: ChatModel, provider: FakeProvider, delivery: str
) -> None:
    fault = Fault(body="{}" + " " * 4000, delivery="partial" if delivery == "half" else "dropped")
    assert type(await failure_of(http_model, provider, fault)) is ModelBusy


async def test_an_incomplete_body_with_a_matching_length_is_busy(
    http_model: ChatModel, provider: FakeProvider
) -> None:
    error = await failure_of(http_model, provider, Fault(body='{"choices": [{"mess'))
    assert type(error) is ModelBusy
    assert "middle" in str(error)


async def test_an_error_with_status_200_is_an_error(
    http_model: ChatModel, provider: FakeProvider
) -> None:
    error = await failure_of(
        http_model, provider, Fault(body=error_body("upstream timed out", code="timeout"))
    )
    assert type(error) is ModelBusy
    assert "upstream timed out" in str(error)


async def test_a_result_with_a_warning_is_a_result(
    provider: FakeProvider, open_with: OpenModel
) -> None:
    choice = {"message": {"content": "{}"}, "finish_reason": "stop"}
    body = json.dumps({"choices": [choice], "error": {"message": "deprecated"}})
    provider.faults = [Fault(body=body)]
    assert (await open_with(Timeouts()).complete(REQUEST)).text == "{}"


async def test_the_error_of_a_field_is_quoted(
    http_model: ChatModel, provider: FakeProvider
) -> None:
    detail = [{"loc": ["body", "messages"], "msg": "too many"}, "?"]
    error = await failure_of(http_model, provider, Fault(422, json.dumps({"detail": detail})))
    assert type(error) is BadTurn
    assert "body.messages: too many" in str(error)


async def test_a_placeholder_key_is_not_redacted_from_messages(
    provider: FakeProvider,
) -> None:
    url = provider.base_url("openai")
    model = open_model("openai-compatible", model="m", base_url=url, api_key="none")
    provider.faults = [Fault(503, error_body("none of the workers is free"))]
    with pytest.raises(ModelBusy, match="none of the workers"):
        await model.complete(REQUEST)
    await model.close()


async def test_a_refused_connection_is_busy() -> None:
    model = open_model("openai-compatible", model="m", base_url="http://127.0.0.1:1/v1")
    with pytest.raises(ModelBusy, match=r"127\.0\.0\.1"):
        await model.complete(REQUEST)
    await model.close()


async def test_a_hanging_provider_ends_in_a_timeout(
    provider: FakeProvider, open_with: OpenModel
) -> None:
    error = await error_of(open_with(Timeouts(total=0.2)), provider, Fault(delivery="hangs"))
    # None if the time was up before the server had read the request.
    assert len(provider.requests) <= 1, "one attempt per request"
    assert type(error) is ModelBusy
    assert error.timed_out
    assert "within 0.2 s" in str(error)


@pytest.mark.parametrize(
    "proxy",
    [
        "nonsense://bob:pa55@x",
        "socks5://bob:pa55@127.0.0.1:1",
        "http://bob:pa55/w@x",
        "http://[::1",
    ],
)
async def test_an_invalid_proxy_stops_the_run_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    # A model on another machine: no proxy is used for one on this machine.
    model = open_model("openai-compatible", model="m", base_url="https://model.example/v1")
    with pytest.raises(
        ModelUnusable, match=r"cannot open a connection: .*[Pp]rox.*HTTPS_PROXY"
    ) as raised:
        await model.complete(REQUEST)
    await model.close()
    assert "pa55" not in str(raised.value)


async def test_an_endless_response_is_aborted(provider: FakeProvider, open_with: OpenModel) -> None:
    error = await failure_of(open_with(Timeouts()), provider, Fault(delivery="endless"))
    assert type(error) is BadTurn
    assert "endless response" in str(error)


FATAL_RESPONSES = [
    (401, error_body("Incorrect API key provided"), "set TURNETL_LLM__API_KEY"),
    (402, error_body("Payment required"), "add credit"),
    (403, error_body("Country not supported"), "may not use this model"),
    (404, '{"error": "model \\"canned\\" not found, try pulling it first"}', "TURNETL_LLM__MODEL"),
    (405, "", "base URL"),
    (204, "", "base URL"),
    (415, error_body("Unsupported media type"), "base URL"),
    (407, "<html>proxy</html>", "proxy's URL"),
    (410, error_body("This model has been retired"), "TURNETL_LLM__MODEL"),
    (404, '[{"error": {"message": "models/canned is not found"}}]', "canned is not found"),
    (308, "", "has moved"),
    (429, error_body("You exceeded your current quota", code="insufficient_quota"), "add credit"),
    (400, error_body("Your credit balance is too low to access the Anthropic API."), "add credit"),
    (
        400,
        error_body("API key not valid. Please pass a valid API key."),
        "set TURNETL_LLM__API_KEY",
    ),
    (200, error_body("Insufficient credits", code=402), "add credit"),
    (200, error_body("Rate limit", code="401"), "set TURNETL_LLM__API_KEY"),
    (200, '{"error": "Unexpected endpoint or method. (POST /chat/completions)"}', "base URL"),
    (200, '{"status": "ok"}', "TURNETL_LLM__PROVIDER"),
    (200, "<html>hello</html>", "base URL"),
    (200, "", "base URL"),
    (
        429,
        error_body(
            "You exceeded your current quota, please check your plan and billing details.",
            status="RESOURCE_EXHAUSTED",
            details=[{"violations": [{"quotaId": "GenerateRequestsPerDayPerProject-FreeTier"}]}],
        ),
        "tomorrow",
    ),
]


@pytest.mark.full
@pytest.mark.parametrize(("status", "body", "expected"), FATAL_RESPONSES)
async def test_an_error_that_the_user_must_fix_stops_the_run(
    http_model: ChatModel, provider: FakeProvider, status: int, body: str, expected: str
) -> None:
    error = await failure_of(http_model, provider, Fault(status, body))
    assert type(error) is ModelUnusable
    assert expected in str(error)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (413, ""),
        (
            400,
            error_body(
                "This model's maximum context length is 8192 tokens. However, you requested 9"
            ),
        ),
        (400, error_body("x", code="context_length_exceeded")),
        (400, error_body("prompt is too long: 208310 tokens > 200000 maximum")),
        (
            400,
            error_body(
                "The input token count (1200000) exceeds the maximum number of tokens allowed"
            ),
        ),
        (400, error_body("the request exceeds the available context size, try increasing it")),
        (429, error_body("Request too large for gpt-4 on tokens per min (TPM): Limit 30000")),
    ],
)
async def test_a_request_above_the_context_window_is_too_long(
    http_model: ChatModel, provider: FakeProvider, status: int, body: str
) -> None:
    assert type(await failure_of(http_model, provider, Fault(status, body))) is TooLong


async def test_a_rejected_request_is_a_bad_turn(
    http_model: ChatModel, provider: FakeProvider
) -> None:
    error = await failure_of(
        http_model, provider, Fault(400, error_body("the content filter was triggered"))
    )
    assert type(error) is BadTurn
    assert "content filter" in str(error)


QUOTA_PER_MINUTE = error_body(
    "You exceeded your current quota, please check your plan and billing details.",
    status="RESOURCE_EXHAUSTED",
    details=[
        {"violations": [{"quotaId": "GenerateContentInputTokensPerModelPerMinute-FreeTier"}]},
        {"retryDelay": "26.5s"},
    ],
)


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"Retry-After": "7"}, "{}", 7.0),
        ({"Retry-After": "0.25"}, "{}", 0.25),
        ({"retry-after-ms": "1500", "Retry-After": "2"}, "{}", 1.5),
        ({"Retry-After": "-3"}, "{}", None),
        ({"Retry-After": "nan"}, "{}", None),
        ({"Retry-After": "soon"}, "{}", None),
        ({"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}, "{}", 0.0),
        ({}, QUOTA_PER_MINUTE, 26.5),
    ],
)
async def test_the_requested_wait_is_parsed(
    http_model: ChatModel,
    provider: FakeProvider,
    headers: dict[str, str],
    body: str,
    seconds: float | None,
) -> None:
    error = await failure_of(http_model, provider, Fault(429, body, headers))
    assert isinstance(error, ModelBusy)
    assert error.retry_after == seconds


async def test_a_retry_date_is_relative_to_the_providers_clock(
    http_model: ChatModel, provider: FakeProvider
) -> None:
    provider.date = "Wed, 21 Oct 2015 07:28:00 GMT"
    retry_headers = {"Retry-After": "Wed, 21 Oct 2015 07:28:42 GMT"}
    error = await failure_of(http_model, provider, Fault(503, headers=retry_headers))
    assert isinstance(error, ModelBusy)
    assert error.retry_after == 42


async def test_a_cancelled_request_leaves_the_model_usable(
    provider: FakeProvider, open_with: OpenModel
) -> None:
    provider.hold = threading.Event()
    model = open_with(Timeouts())
    task = asyncio.create_task(model.complete(REQUEST))
    await asyncio.to_thread(provider.arrived.acquire)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    provider.hold.set()
    assert (await model.complete(REQUEST)).text


async def test_a_model_may_be_closed_during_a_request(
    provider: FakeProvider, open_with: OpenModel
) -> None:
    provider.hold = threading.Event()
    model = open_with(Timeouts())
    task = asyncio.create_task(model.complete(REQUEST))
    await asyncio.to_thread(provider.arrived.acquire)
    await model.close()
    provider.hold.set()
    assert (await task).text


@pytest.mark.parametrize("key", ["s3cr3t\n", "s3cr\u00e9t", "s3cr3t\x00", "s3cr3t ", "s3cr 3t"])
def test_a_key_that_no_header_can_carry_is_rejected_without_being_printed(key: str) -> None:
    with pytest.raises(BadUsage, match="TURNETL_LLM__API_KEY") as raised:
        open_model("openai", model="m", api_key=key)
    assert "s3cr" not in str(raised.value)
