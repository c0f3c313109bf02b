"""Models with less room than is asked for, as their servers say it."""

import asyncio
import json
import threading
from dataclasses import replace

import pytest

from tests.llm.conftest import Opens
from tests.llm.test_providers import ASKED
from tests.servers.provider import FakeProvider, Fault
from turnetl.errors import TooLong
from turnetl.llm.chat import ChatMessage, ChatRequest
from turnetl.llm.retry import RetryingModel, RetryPolicy
from turnetl.llm.transport.context_window import ContextWindow
from turnetl.llm.transport.http import Timeouts

LONG = ChatRequest("p", (ChatMessage("user", "word " * 1_000),), None, 16_384)
"""5,000 characters."""

OF_ANY_ANSWER = [
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
OF_BOTH = [
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


@pytest.mark.parametrize(("words", "most"), OF_ANY_ANSWER)
def test_the_output_limit_of_a_model_is_learned(words: str, most: int) -> None:
    room = ContextWindow()
    assert room.learn(words, LONG)
    assert room.limited(LONG).max_tokens == most
    assert not room.learn(words, room.limited(LONG)), "asked so again, it would be refused again"


@pytest.mark.parametrize("words", OF_BOTH)
def test_a_response_is_limited_to_the_rest_of_the_context_window(words: str) -> None:
    room = ContextWindow()
    assert room.learn(words, LONG)
    assert 6_500 < room.limited(LONG).max_tokens < 7_192
    short = ChatRequest("p", (ChatMessage("user", "word"),), None, 16_384)
    assert 7_900 < room.limited(short).max_tokens < 8_192
    few = ChatRequest("p", short.messages, None, 500)
    assert room.limited(few) == few


def test_a_prompt_that_leaves_no_room_is_too_long_before_it_is_sent() -> None:
    room = ContextWindow()
    room.learn(OF_BOTH[0], LONG)
    with pytest.raises(TooLong, match="8,192"):
        room.limited(ChatRequest("p", LONG.messages * 7, None, 16_384))


@pytest.mark.parametrize("words", ["", "the prompt is too long", "context length exceeded"])
def test_a_message_without_numbers_teaches_nothing(words: str) -> None:
    room = ContextWindow()
    assert not room.learn(words, LONG)
    assert room.limited(LONG) == LONG


@pytest.mark.parametrize("words", [words for words, _ in OF_ANY_ANSWER] + OF_BOTH)
async def test_a_server_with_a_smaller_context_window_gets_smaller_limits(
    provider: FakeProvider, opens: Opens, words: str
) -> None:
    model = RetryingModel(opens(Timeouts()), RetryPolicy(attempts=2, first_wait=0))
    provider.hold = threading.Event()
    provider.faults = [Fault(400, json.dumps({"error": {"message": words, "code": 400}}))] * 3
    told = (ChatMessage("system", "s " * 2_000), *ASKED.messages[1:])
    asked = replace(ASKED, messages=told, max_tokens=16_384)
    together = asyncio.gather(*(model.complete(asked) for _ in range(3)))
    for _ in range(3):
        await asyncio.to_thread(provider.arrived.acquire)
    provider.hold.set()
    await together
    await model.complete(asked)
    most = [one.body["max_tokens"] for one in provider.requests]
    assert most[:3] == [16_384] * 3
    assert len(most) == 7
    assert max(most[3:]) <= 8_192


async def test_a_prompt_that_fills_the_context_window_is_too_long(
    provider: FakeProvider, opens: Opens
) -> None:
    words = OF_BOTH[0].replace("1000 in", "8100 in")
    provider.faults = [Fault(400, json.dumps({"error": {"message": words}}))]
    with pytest.raises(TooLong):
        await opens(Timeouts()).complete(ASKED)
    assert len(provider.requests) == 1
