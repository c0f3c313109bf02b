"""Which processes share limits."""

from typing import Any
from uuid import uuid4

import pytest
from pydantic import ValidationError

from turnetl.settings import Settings
from turnetl.wiring.clients import shared_name

LLM = {"provider": "openai-compatible", "model": "m", "base_url": "https://host.example/v1"}


def name(**llm: Any) -> str | None:
    return shared_name(Settings.model_validate({"llm": LLM | llm}))


def test_without_a_limit_per_minute_each_process_has_its_own() -> None:
    assert name() is None
    assert name(concurrency=2) is None


@pytest.mark.parametrize("limit", ["requests_per_minute", "tokens_per_minute"])
def test_a_limit_per_minute_is_shared_by_provider_url_and_model(limit: str) -> None:
    limits: dict[str, Any] = {limit: 10}
    shared = name(**limits)
    assert shared is not None
    assert shared == name(**limits, base_url="https://HOST.example/v1/")
    others = [
        name(**limits, model="other"),
        name(**limits, base_url="https://other.example/v1"),
        name(**limits, provider="openai"),
    ]
    assert len({shared, *others}) == 4


def test_no_credential_is_part_of_the_name() -> None:
    secret = uuid4().hex
    plain = name(requests_per_minute=1)
    assert plain == name(requests_per_minute=1, api_key=secret)
    url = f"https://user:{secret}@host.example/v1"
    assert plain == name(requests_per_minute=1, base_url=url)


def test_a_name_is_shared_also_without_a_limit_per_minute() -> None:
    assert name(shared_limits="team") == "team"
    assert name(shared_limits="none", requests_per_minute=1) is None


@pytest.mark.parametrize("wrong", ["", "a b", "-a", "x" * 65, "a\n"])
def test_a_name_of_other_characters_is_rejected(wrong: str) -> None:
    with pytest.raises(ValidationError, match="`auto`, `none` or a name"):
        name(shared_limits=wrong)
