"""Request parameters that a model rejects: learned from its error, once."""

import json
from typing import Any

import pytest

from tests.llm.test_providers import REQUEST
from tests.servers.provider import KEY, FakeProvider, Fault
from turnetl.base.errors import BadTurn
from turnetl.llm.http import UnsupportedParams
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryingModel, RetryPolicy

NO_TEMPERATURE = (
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
    "value is supported."
)
NO_MAX_TOKENS = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)


def rejection(message: str, status: int = 400) -> Fault:
    return Fault(status, json.dumps({"error": {"message": message}}))


async def sent_bodies(
    provider: FakeProvider, provider_name: str, name: str
) -> list[dict[str, Any]]:
    """Return the bodies of two requests and their retries."""
    base = open_model(
        provider_name, model=name, base_url=provider.base_url(provider_name), api_key=KEY
    )
    model = RetryingModel(base, RetryPolicy(attempts=4, first_wait=0))
    try:
        await model.complete(REQUEST)
        await model.complete(REQUEST)
    finally:
        await model.close()
    return [received.body for received in provider.requests]


async def test_a_deployment_gets_no_temperature_after_it_rejected_one(
    provider: FakeProvider,
) -> None:
    provider.faults = [rejection(NO_TEMPERATURE)]
    first, *others = await sent_bodies(provider, "openai-compatible", "our-deployment")
    assert first["temperature"] == 0
    assert len(others) == 2
    assert (
        others[0]
        == others[1]
        == {name: value for name, value in first.items() if name != "temperature"}
    )


async def test_the_token_limit_gets_the_name_that_the_server_supports(
    provider: FakeProvider,
) -> None:
    provider.faults = [rejection(NO_MAX_TOKENS), rejection(NO_TEMPERATURE)]
    *_, last = await sent_bodies(provider, "openai-compatible", "our-deployment")
    assert last["max_completion_tokens"] == REQUEST.max_tokens
    assert "max_tokens" not in last
    assert "temperature" not in last
    assert len(provider.requests) == 4


@pytest.mark.parametrize(
    ("provider_name", "name", "message", "path"),
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
    provider: FakeProvider, provider_name: str, name: str, message: str, path: tuple[str, ...]
) -> None:
    provider.faults = [rejection(message)]
    first, second, third = await sent_bodies(provider, provider_name, name)
    *parents, last = path
    for key in parents:
        first, second = first[key], second[key]
    assert last in first
    assert last not in second
    assert provider.requests[1].body == third


@pytest.mark.parametrize(
    "message",
    [
        "the temperature of this text was flagged",
        "unsupported words in the message",
        "'top_p' is not supported",
        "",
    ],
)
async def test_other_rejections_are_bad_turns(provider: FakeProvider, message: str) -> None:
    provider.faults = [rejection(message)]
    with pytest.raises(BadTurn):
        await sent_bodies(provider, "openai-compatible", "our-deployment")
    assert len(provider.requests) == 1


async def test_a_model_that_rejects_both_names_of_the_token_limit_is_not_retried_forever(
    provider: FakeProvider,
) -> None:
    other = NO_MAX_TOKENS.replace("'max_tokens'", "'max_completion_tokens'")
    provider.faults = [rejection(NO_MAX_TOKENS), rejection(other)]
    with pytest.raises(BadTurn):
        await sent_bodies(provider, "openai-compatible", "our-deployment")
    assert len(provider.requests) == 2


def test_requests_in_flight_when_a_rejection_is_learned_are_retried_too() -> None:
    unsupported, sent = UnsupportedParams(), {"model": "m", "temperature": 0}
    assert [unsupported.learn(NO_TEMPERATURE, sent) for _ in range(2)] == ["temperature"] * 2
    assert unsupported.removed_from(sent) == {"model": "m"}
