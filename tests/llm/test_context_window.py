"""Limits of responses, learned from the errors of servers."""

import asyncio
import json
import threading
from dataclasses import replace

import pytest

from tests.llm.conftest import OpenModel
from tests.llm.test_providers import REQUEST
from tests.servers.provider import FakeProvider, Fault
from turnetl.base.errors import TooLong
from turnetl.llm.chat import ChatMessage, ChatRequest
from turnetl.llm.error_responses import ContextWindow
from turnetl.llm.http import Timeouts
from turnetl.llm.retry import RetryingModel, RetryPolicy

LONG = ChatRequest("p", (ChatMessage("user", "word " * 1_000),), None, 16_384)
"""5,000 characters."""

OUTPUT_LIMITS = [
    ("max_tokens is too large: 16384. This model supports at most 4096 completion tokens.", 4095),
    ("max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for c", 8191),
    (
        (
            "Unable to submit request because it has a maxOutputTokens value of 16384 but the "
            "supported range is from 1 (inclusive) to 8193 (exclusive)."
        ),
        8192,
    ),
]
CONTEXT_LIMITS = [
    (
        "This model's maximum context length is 8192 tokens. However, you requested 17384 tokens "
        "(1000 in the messages, 16384 in the completion). Please reduce the length of the messages."
    ),
    (
        "This model's maximum context length is 8192 tokens. However, you requested 16384 output "
        "tokens and your prompt contains at least 1000 input tokens, for a total of at least 8193."
    ),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context "
        "length is 8192 tokens and your request has 1000 input tokens (16384 > 8192 - 1000)."
    ),
]


@pytest.mark.parametrize(("message", "limits"), OUTPUT_LIMITS)
def test_the_output_limit_of_a_model_is_learned(message: str, limits: int) -> None:
    window = ContextWindow()
    assert window.learn(message, LONG)
    assert window.limited(LONG).max_tokens == limits
    assert not window.learn(message, window.limited(LONG)), (
        "the same request would be rejected again"
    )


@pytest.mark.parametrize("message", CONTEXT_LIMITS)
def test_a_response_is_limited_to_the_rest_of_the_context_window(message: str) -> None:
    window = ContextWindow()
    assert window.learn(message, LONG)
    assert 6_500 < window.limited(LONG).max_tokens < 7_192
    short = ChatRequest("p", (ChatMessage("user", "word"),), None, 16_384)
    assert 7_900 < window.limited(short).max_tokens < 8_192
    small_limit = ChatRequest("p", short.messages, None, 500)
    assert window.limited(small_limit) == small_limit


def test_a_prompt_that_leaves_no_room_is_too_long_before_it_is_sent() -> None:
    window = ContextWindow()
    window.learn(CONTEXT_LIMITS[0], LONG)
    with pytest.raises(TooLong, match="8,192"):
        window.limited(ChatRequest("p", LONG.messages * 7, None, 16_384))


@pytest.mark.parametrize("message", ["", "the prompt is too long", "context length exceeded"])
def test_a_message_without_numbers_teaches_nothing(message: str) -> None:
    window = ContextWindow()
    assert not window.learn(message, LONG)
    assert window.limited(LONG) == LONG


@pytest.mark.parametrize("message", [message for message, _ in OUTPUT_LIMITS] + CONTEXT_LIMITS)
async def test_a_server_with_a_smaller_context_window_gets_smaller_limits(
    provider: FakeProvider, open_with: OpenModel, message: str
) -> None:
    model = RetryingModel(open_with(Timeouts()), RetryPolicy(attempts=2, first_wait=0))
    provider.hold = threading.Event()
    provider.faults = [Fault(400, json.dumps({"error": {"message": message, "code": 400}}))] * 3
    messages = (ChatMessage("system", "s " * 2_000), *REQUEST.messages[1:])
    request = replace(REQUEST, messages=messages, max_tokens=16_384)
    concurrent = asyncio.gather(*(model.complete(request) for _ in range(3)))
    for _ in range(3):
        await asyncio.to_thread(provider.arrived.acquire)
    provider.hold.set()
    await concurrent
    await model.complete(request)
    limits = [received.body["max_tokens"] for received in provider.requests]
    assert limits[:3] == [16_384] * 3
    assert len(limits) == 7
    assert max(limits[3:]) <= 8_192


async def test_a_prompt_that_fills_the_context_window_is_too_long(
    provider: FakeProvider, open_with: OpenModel
) -> None:
    message = CONTEXT_LIMITS[0].replace("1000 in", "8100 in")
    provider.faults = [Fault(400, json.dumps({"error": {"message": message}}))]
    with pytest.raises(TooLong):
        await open_with(Timeouts()).complete(REQUEST)
    assert len(provider.requests) == 1
