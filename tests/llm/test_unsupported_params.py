"""What a model does not want beside a request: learnt from its refusal, once."""

import json
from typing import Any

import pytest

from tests.llm.test_providers import ASKED
from tests.servers.provider import KEY, FakeProvider, Fault
from turnetl.errors import BadTurn
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryingModel, RetryPolicy
from turnetl.llm.transport.unsupported_params import UnsupportedParams

NO_TEMPERATURE = (
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
    "value is supported."
)
NO_MAX_TOKENS = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)


def refusing(words: str, status: int = 400) -> Fault:
    return Fault(status, json.dumps({"error": {"message": words}}))


async def bodies(provider: FakeProvider, wire: str, name: str) -> list[dict[str, Any]]:
    """Return what is sent for two requests, and for what is asked again."""
    base = open_model(wire, model=name, base_url=provider.base_url(wire), api_key=KEY)
    model = RetryingModel(base, RetryPolicy(attempts=4, first_wait=0))
    try:
        await model.complete(ASKED)
        await model.complete(ASKED)
    finally:
        await model.close()
    return [asked.body for asked in provider.requests]


async def test_a_deployment_gets_no_temperature_after_it_rejected_one(
    provider: FakeProvider,
) -> None:
    provider.faults = [refusing(NO_TEMPERATURE)]
    first, *others = await bodies(provider, "openai-compatible", "our-deployment")
    assert first["temperature"] == 0
    assert len(others) == 2
    assert others[0] == others[1] == {k: v for k, v in first.items() if k != "temperature"}


async def test_the_token_limit_gets_the_name_that_the_server_supports(
    provider: FakeProvider,
) -> None:
    provider.faults = [refusing(NO_MAX_TOKENS), refusing(NO_TEMPERATURE)]
    *_, last = await bodies(provider, "openai-compatible", "our-deployment")
    assert last["max_completion_tokens"] == ASKED.max_tokens
    assert "max_tokens" not in last
    assert "temperature" not in last
    assert len(provider.requests) == 4


@pytest.mark.parametrize(
    ("wire", "name", "words", "path"),
    [
        (
            "openai",
            "gpt-5-mini",
            "Unrecognized request argument supplied: reasoning_effort",
            ("reasoning_effort",),
        ),
        (
            "openai",
            "our-deployment",
            "body.max_completion_tokens: Extra inputs are not permitted",
            ("max_completion_tokens",),
        ),
        (
            "gemini",
            "gemini-3-flash",
            "Thinking level is not supported for this model.",
            ("generationConfig", "thinkingConfig"),
        ),
        (
            "anthropic",
            "claude-opus-5-5",
            "This model does not support the effort parameter.",
            ("output_config", "effort"),
        ),
    ],
)
async def test_every_adapter_omits_rejected_parameters(
    provider: FakeProvider, wire: str, name: str, words: str, path: tuple[str, ...]
) -> None:
    provider.faults = [refusing(words)]
    first, second, third = await bodies(provider, wire, name)
    *above, last = path
    for step in above:
        first, second = first[step], second[step]
    assert last in first
    assert last not in second
    assert provider.requests[1].body == third


@pytest.mark.parametrize(
    "words",
    [
        "the temperature of this text was flagged",
        "unsupported words in the message",
        "'top_p' is not supported",
        "",
    ],
)
async def test_other_rejections_are_bad_turns(provider: FakeProvider, words: str) -> None:
    provider.faults = [refusing(words)]
    with pytest.raises(BadTurn):
        await bodies(provider, "openai-compatible", "our-deployment")
    assert len(provider.requests) == 1


async def test_a_model_that_rejects_both_names_of_the_token_limit_is_not_retried_forever(
    provider: FakeProvider,
) -> None:
    other = NO_MAX_TOKENS.replace("'max_tokens'", "'max_completion_tokens'")
    provider.faults = [refusing(NO_MAX_TOKENS), refusing(other)]
    with pytest.raises(BadTurn):
        await bodies(provider, "openai-compatible", "our-deployment")
    assert len(provider.requests) == 2


def test_requests_in_flight_when_a_rejection_is_learned_are_retried_too() -> None:
    unwanted, sent = UnsupportedParams(), {"model": "m", "temperature": 0}
    assert [unwanted.learn(NO_TEMPERATURE, sent) for _ in range(2)] == ["temperature"] * 2
    assert unwanted.removed_from(sent) == {"model": "m"}
