"""`turnetl model check` sends one request per prompt and reports what the model cannot do."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.cli.provider_setup import model_environment
from tests.servers.provider import FakeProvider, Fault
from tests.servers.summary_responses import RESPONDERS

PROMPTS = {
    "extract_nodes.extract_message",
    "dedupe_nodes.nodes",
    "extract_edges.edge",
    "dedupe_edges.resolve_edge",
    "dedupe_edges.resolve_edges",
    "extract_edges.extract_timestamps",
    "summaries.refresh",
}


def test_a_model_that_completes_every_prompt_passes(provider: FakeProvider, tmp_path: Path) -> None:
    result = run_in_process(
        "model", "check", "--json", folder=tmp_path, **model_environment(provider)
    )
    assert (result.exit_code, result.json["passed"]) == (0, True)
    assert {check["prompt"] for check in result.json["checks"]} >= PROMPTS
    assert list(tmp_path.iterdir()) == []


def test_a_failed_check_is_a_message_and_exit_code_one(
    provider: FakeProvider, tmp_path: Path
) -> None:
    provider.responders = {**RESPONDERS, "duplicate_facts": lambda _: {"prose": "I would say so."}}
    result = run_in_process("model", "check", folder=tmp_path, **model_environment(provider))
    assert result.exit_code == 1
    assert any("dedupe_edges.resolve_edge" in message for message in result.messages)
    sent = len(provider.requests)
    run_in_process("model", "check", folder=tmp_path, **model_environment(provider))
    assert len(provider.requests) == 2 * sent


def test_a_check_retries_less_often_than_a_run(provider: FakeProvider, tmp_path: Path) -> None:
    provider.responses = ["Sure, here is what I found."] * 100
    checks = run_in_process(
        "model", "check", "--json", folder=tmp_path, **model_environment(provider)
    ).json["checks"]
    assert max(check["calls"] for check in checks) == 3
    assert all("not JSON" in check["problem"] for check in checks)


def test_a_server_that_ignores_schemas_passes_with_the_schema_in_the_prompt(
    provider: FakeProvider, tmp_path: Path
) -> None:
    provider.responses = ["Sure, here is what I found."] * 2
    result = run_in_process(
        "model", "check", "--json", folder=tmp_path, **model_environment(provider)
    )
    assert (result.exit_code, result.json["passed"]) == (0, True)


@pytest.mark.full
def test_parameters_that_a_deployment_rejects_are_left_out(
    provider: FakeProvider, tmp_path: Path
) -> None:
    complaints = (
        "Unsupported value: 'temperature' does not support 0 with this model.",
        "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'.",
        "max_tokens: 1800 > 512, which is the maximum allowed number of output tokens",
    )
    provider.faults = [Fault(400, json.dumps({"error": {"message": text}})) for text in complaints]
    result = run_in_process(
        "model", "check", "--json", folder=tmp_path, **model_environment(provider)
    )
    assert (result.exit_code, result.json["passed"]) == (0, True)
    rejected = [text.rsplit("` ", 1)[-1] for text in result.messages if "rejects the par" in text]
    assert rejected == [
        "rejects the parameter `temperature`",
        "rejects the parameter `max_tokens`",
    ]


def test_reflexion_prompts_are_checked_if_they_are_used(
    provider: FakeProvider, tmp_path: Path
) -> None:
    command = ("model", "check", "--reflexion", "1", "--json")
    checks = run_in_process(*command, folder=tmp_path, **model_environment(provider)).json["checks"]
    assert {"reflexion.entities", "reflexion.facts"} <= {check["prompt"] for check in checks}


@pytest.mark.full
@pytest.mark.parametrize(
    ("settings", "says", "code"),
    [
        ({"LLM__PROVIDER": "none"}, "TURNETL_LLM__PROVIDER", 2),
        ({"LLM__MODEL": ""}, "TURNETL_LLM__MODEL", 2),
        ({"LLM__MODELS": "dedub=small"}, "`dedub`", 2),
        ({"LLM__BASE_URL": "http://127.0.0.1:9/v1"}, "did not respond", 1),
    ],
)
def test_an_invalid_model_is_one_message(
    settings: Mapping[str, str], says: str, code: int, provider: FakeProvider, tmp_path: Path
) -> None:
    result = run_in_process(
        "model", "check", folder=tmp_path, **model_environment(provider, **settings)
    )
    assert result.exit_code == code
    assert says in result.messages[-1]


@pytest.mark.parametrize(
    ("status", "says"),
    [(401, "TURNETL_LLM__API_KEY"), (402, "no credit"), (404, "TURNETL_LLM__MODEL")],
)
def test_a_refusal_of_the_provider_is_one_message(
    status: int, says: str, provider: FakeProvider, tmp_path: Path
) -> None:
    provider.faults += [Fault(status)] * 40
    result = run_in_process("model", "check", folder=tmp_path, **model_environment(provider))
    assert (result.exit_code, len(result.messages)) == (1, 1)
    assert says in result.stderr


@pytest.mark.full
def test_an_embedder_that_does_not_respond_fails_the_check(
    provider: FakeProvider, tmp_path: Path
) -> None:
    nowhere = {"PROVIDER": "openai-compatible", "MODEL": "m", "BASE_URL": "http://127.0.0.1:9/v1"}
    settings = model_environment(
        provider, **{f"EMBEDDER__{name}": value for name, value in nowhere.items()}
    )
    result = run_in_process("model", "check", "--json", folder=tmp_path, **settings)
    assert result.exit_code == 1
    assert [check["prompt"] for check in result.json["checks"] if not check["passed"]] == [
        "embeddings"
    ]
