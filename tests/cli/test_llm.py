"""The command with a language model, over real HTTP."""

from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, run_in_process
from tests.servers.provider import KEY, FakeProvider, Fault

ARCHIVE = SAMPLES / "shoebox" / "2026-04-19-heic.jsonl"
FIELDS = ("extracted_entities", "edges")


def named(provider: FakeProvider) -> dict[str, str]:
    return {
        "TURNETL_LLM__PROVIDER": "openai-compatible",
        "TURNETL_LLM__BASE_URL": f"{provider.url}/v1",
        "TURNETL_LLM__MODEL": "canned",
        "TURNETL_LLM__API_KEY": KEY,
    }


@pytest.mark.parametrize("extractor", ["llm", "hybrid"])
def test_a_model_that_is_named_is_asked_and_the_second_time_not_again(
    extractor: str, provider: FakeProvider, graph_url: str, tmp_path: Path
) -> None:
    command = ("backfill", ARCHIVE, "--extractor", extractor, "--graph", graph_url, "--json")
    first = run_in_process(*command, folder=tmp_path, **named(provider))
    asked = len(provider.requests)
    assert (first.exit_code, first.json["committed"]) == (0, 3)
    assert asked > 0
    assert any("Decisions" in text for one in provider.requests for _, text in one.messages)
    again = run_in_process(*command, folder=tmp_path, **named(provider))
    assert (again.json["committed"], again.json["skipped"]) == (0, 3)
    assert len(provider.requests) == asked


def test_a_key_that_is_refused_stops_the_run_and_every_turn_waits(
    provider: FakeProvider, tmp_path: Path
) -> None:
    provider.faults += [Fault(401)] * 20
    ran = run_in_process("backfill", ARCHIVE, "--json", folder=tmp_path, **named(provider))
    assert ran.exit_code == 1
    assert (ran.json["committed"], ran.json["quarantined"], ran.json["pending"]) == (0, 0, 3)
    assert KEY not in ran.stdout + ran.stderr


def test_the_status_of_a_model_that_is_not_fully_named_is_told_all_the_same(
    tmp_path: Path,
) -> None:
    run_in_process("backfill", ARCHIVE, folder=tmp_path)
    said = run_in_process("status", "--json", folder=tmp_path, TURNETL_LLM__PROVIDER="openai")
    assert (said.exit_code, said.json["committed"]) == (0, 3)


def test_some_prompts_go_to_other_models_and_each_is_named_in_the_journal(
    provider: FakeProvider, tmp_path: Path
) -> None:
    settings = {"TURNETL_LLM__MODELS": "extract_edges=tiny"}
    assert (
        run_in_process(
            "backfill", ARCHIVE, folder=tmp_path, **named(provider), **settings
        ).exit_code
        == 0
    )
    models = {
        field: {one.body["model"] for one in provider.requests_for(field)} for field in FIELDS
    }
    assert models == {"extracted_entities": {"canned"}, "edges": {"tiny"}}
    held = run_in_process("journal", "stats", "--json", folder=tmp_path).json["by_model"]
    assert set(held) == {"openai-compatible/canned", "openai-compatible/tiny"}
