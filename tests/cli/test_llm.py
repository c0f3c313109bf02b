"""Commands with a language model, over HTTP."""

from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, run_in_process
from tests.cli.provider_setup import model_environment
from tests.servers.provider import KEY, FakeProvider, Fault

ARCHIVE = SAMPLES / "shoebox" / "2026-04-19-heic.jsonl"
FIELDS = ("extracted_entities", "edges")


@pytest.mark.full
@pytest.mark.parametrize("extractor", ["llm", "hybrid"])
def test_a_second_run_sends_no_request(
    extractor: str, provider: FakeProvider, graph_url: str, tmp_path: Path
) -> None:
    command = ("backfill", ARCHIVE, "--extractor", extractor, "--graph", graph_url, "--json")
    first = run_in_process(*command, folder=tmp_path, **model_environment(provider))
    sent = len(provider.requests)
    assert (first.exit_code, first.json["committed"]) == (0, 3)
    assert sent > 0
    assert any(
        "search for in a year" in text
        for request in provider.requests
        for _, text in request.messages
    )
    again = run_in_process(*command, folder=tmp_path, **model_environment(provider))
    assert (again.json["committed"], again.json["already_committed"]) == (0, 3)
    assert len(provider.requests) == sent


def test_a_rejected_key_stops_the_run_and_every_turn_stays_pending(
    provider: FakeProvider, tmp_path: Path
) -> None:
    provider.faults += [Fault(401)] * 20
    result = run_in_process(
        "backfill", ARCHIVE, "--json", folder=tmp_path, **model_environment(provider)
    )
    assert result.exit_code == 1
    assert (result.json["committed"], result.json["quarantined"], result.json["pending"]) == (
        0,
        0,
        3,
    )
    assert KEY not in result.stdout + result.stderr


@pytest.mark.full
def test_status_works_with_an_incomplete_model(shop: Path) -> None:
    result = run_in_process("status", "--json", folder=shop, TURNETL_LLM__PROVIDER="openai")
    assert (result.exit_code, result.json["committed"]) == (0, 2)


@pytest.mark.full
def test_prompts_with_another_model_are_in_the_journal_under_that_model(
    provider: FakeProvider, tmp_path: Path
) -> None:
    settings = model_environment(provider, LLM__MODELS="extract_edges=tiny")
    assert run_in_process("backfill", ARCHIVE, folder=tmp_path, **settings).exit_code == 0
    models = {
        field: {request.body["model"] for request in provider.requests_for(field)}
        for field in FIELDS
    }
    assert models == {"extracted_entities": {"canned"}, "edges": {"tiny"}}
    stats = run_in_process("journal", "stats", "--json", folder=tmp_path).json
    assert set(stats["by_model"]) == {"openai-compatible/canned", "openai-compatible/tiny"}
