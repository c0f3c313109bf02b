"""The cost of models, and the effect of a budget."""

import re
from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, CommandResult, run_in_process
from tests.cli.provider_setup import model_environment
from tests.servers.provider import FakeProvider

ARCHIVES = (
    SAMPLES / "shoebox" / "2026-04-19-heic.jsonl",
    SAMPLES / "bookshop" / "2026-05-05-export.jsonl",
)
"""Two groups, five turns. Without --limit, which starts again in each run."""
PRICED = '"openai-compatible/canned" = { input = 0.40, cached_input = 0.10, output = 1.60 }\n'


def write_prices(folder: Path, prices: str = PRICED) -> None:
    (folder / ".graphiti").mkdir(exist_ok=True)
    (folder / ".graphiti" / "prices.toml").write_text(prices)


def backfill(provider: FakeProvider, folder: Path, *options: str) -> CommandResult:
    folder.mkdir(exist_ok=True)
    return run_in_process(
        "backfill", *ARCHIVES, *options, folder=folder, **model_environment(provider)
    )


@pytest.mark.full
def test_a_used_up_budget_exits_with_four_and_the_same_command_pays_nothing_twice(
    provider: FakeProvider, tmp_path: Path
) -> None:
    provider.prompt_tokens = 2_000
    unlimited = backfill(provider, tmp_path / "whole", "--json").json
    calls = len(provider.requests)
    provider.requests.clear()
    codes, tokens = [4], 1_000
    while codes[-1] == 4:
        result = backfill(provider, tmp_path / "budget", "--budget", f"{tokens} tokens", "--json")
        codes.append(result.exit_code)
        assert result.json["quarantined"] == 0
        if result.exit_code == 4:
            (least,) = set(re.findall(r"may use up to ([\d,]+) tokens", result.stderr))
            tokens = int(least.replace(",", "")) + 2_000
    assert (codes[-1], codes.count(4) > 2) == (0, True)
    assert len(provider.requests) == calls
    status = run_in_process(
        "status", "--json", folder=tmp_path / "budget", **model_environment(provider)
    ).json
    assert status["committed"] == unlimited["committed"]
    assert status["usage"]["calls"] == calls


@pytest.mark.full
def test_a_budget_in_dollars_without_a_price_is_rejected_before_the_first_request(
    provider: FakeProvider, tmp_path: Path
) -> None:
    result = backfill(provider, tmp_path, "--budget", "$5")
    assert result.exit_code == 2
    assert '"openai-compatible/canned" = {' in result.stderr
    assert str(tmp_path / ".graphiti" / "prices.toml") in result.stderr
    assert provider.requests == []
    write_prices(tmp_path)
    assert backfill(provider, tmp_path, "--budget", "$5").exit_code == 0


@pytest.mark.full
def test_the_usage_has_every_prompt_and_the_sum(provider: FakeProvider, tmp_path: Path) -> None:
    write_prices(tmp_path)
    usage = backfill(provider, tmp_path, "--json").json["usage"]
    assert usage["calls"] == len(provider.requests)
    assert usage["cost"] == pytest.approx(len(provider.requests) * (100 * 0.4 + 10 * 1.6) / 1e6)
    by_prompt = usage["by_prompt"]
    assert sum(prompt["calls"] for prompt in by_prompt.values()) == usage["calls"]
    assert "extract_nodes.extract_message" in by_prompt
    assert list(by_prompt) == sorted(by_prompt)


@pytest.mark.full
def test_without_a_price_the_cost_is_unknown(provider: FakeProvider, tmp_path: Path) -> None:
    result = backfill(provider, tmp_path)
    assert result.exit_code == 0
    assert "cost: unknown" in result.stdout
    assert "has no price" in result.stderr
    status = run_in_process("status", "--json", folder=tmp_path, **model_environment(provider)).json
    assert status["usage"]["cost"] is None
    assert status["usage"]["prompt_tokens"] > 0


@pytest.mark.full
@pytest.mark.parametrize("extractor", ["structural", "llm"])
def test_requests_to_an_embedder_are_in_the_usage_and_not_in_the_budget(
    provider: FakeProvider, tmp_path: Path, extractor: str
) -> None:
    write_prices(tmp_path, PRICED + '"openai-compatible/e" = { input = 1000, output = 0 }\n')
    embedder = {
        "TURNETL_EMBEDDER__PROVIDER": "openai-compatible",
        "TURNETL_EMBEDDER__BASE_URL": f"{provider.url}/v1",
        "TURNETL_EMBEDDER__MODEL": "e",
    }
    options = ("--extractor", extractor, "--budget", "$0.30", "--json")
    result = run_in_process(
        "backfill", *ARCHIVES, *options, folder=tmp_path, **model_environment(provider), **embedder
    )
    assert result.exit_code == 0
    requests = [request for request in provider.requests if request.path.endswith("/embeddings")]
    texts = sum(len(request.body["input"]) for request in requests)
    counted = result.json["usage"]["by_prompt"]["embeddings"]
    assert counted["calls"] == len(requests) > 0
    assert counted["prompt_tokens"] == texts
    assert counted["cost"] == pytest.approx(texts / 1000)
    assert result.json["usage"]["calls"] == len(provider.requests)


def test_an_invalid_price_is_named_with_its_file_and_line(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_prices(tmp_path, PRICED.replace("0.40", "-1"))
    result = backfill(provider, tmp_path)
    assert result.exit_code == 2
    assert "prices.toml`, line 1, `openai-compatible/canned`: -1.0 is not a price" in result.stderr
    assert provider.requests == []


@pytest.mark.full
def test_another_graph_takes_the_responses_from_the_journal(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_prices(tmp_path)
    first = backfill(provider, tmp_path, "--json").json
    calls = len(provider.requests)
    again = backfill(provider, tmp_path, "--json", "--graph", f"ladybug://{tmp_path / 'b.lbug'}")
    assert again.json["committed"] == first["committed"]
    assert len(provider.requests) == calls
    assert (again.json["usage"]["calls"], again.json["usage"]["cost"]) == (0, 0.0)
    assert again.json["usage"]["journal_hits"] == calls
