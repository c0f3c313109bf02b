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
DEAR = '"openai-compatible/canned" = { input = 1000, output = 1000 }\n'
"""A dollar per thousand tokens: a canned response of 110 tokens costs 11 cents."""


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
    codes, tokens = [4], 1
    while codes[-1] == 4:
        result = backfill(provider, tmp_path / "budget", "--budget", f"{tokens} tokens", "--json")
        assert tokens > 1 or provider.requests == []
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
def test_a_budget_in_dollars_is_kept_and_reported(provider: FakeProvider, tmp_path: Path) -> None:
    write_prices(tmp_path, DEAR)
    stopped = backfill(provider, tmp_path, "--budget", "2usd", "--json")
    assert stopped.exit_code == 4
    assert any("$" in text and "budget" in text for text in stopped.messages)
    assert stopped.json["usage"]["cost"] <= 2
    rest = backfill(provider, tmp_path, "--budget", "1000usd", "--json").json
    assert (rest["pending"], rest["usage"]["calls"] > 0) == (0, True)
    assert rest["usage"]["cost"] == pytest.approx(0.11 * rest["usage"]["calls"])
    status = ("status", "--json")
    spent = run_in_process(*status, folder=tmp_path, **model_environment(provider)).json["usage"]
    assert spent["cost"] == pytest.approx(rest["usage"]["cost"] + stopped.json["usage"]["cost"])


@pytest.mark.full
def test_a_structural_run_expects_no_cost(tmp_path: Path) -> None:
    done = run_in_process("backfill", ARCHIVES[0], "--json", folder=tmp_path).json["usage"]
    assert (done["expected_cost"], done["expected_tokens"], done["committed_cost"]) == (None,) * 3


@pytest.mark.full
def test_the_budget_option_overrides_the_budget_of_the_settings(
    provider: FakeProvider, tmp_path: Path
) -> None:
    settings = model_environment(provider, BUDGET__TOKENS="10")
    command = ("backfill", ARCHIVES[0])
    stopped = run_in_process(*command, folder=tmp_path, **settings)
    assert (stopped.exit_code, provider.requests) == (4, [])
    done = run_in_process(*command, "--budget", "none", folder=tmp_path, **settings)
    assert done.exit_code == 0


def test_a_budget_in_dollars_without_a_price_is_rejected_before_the_first_request(
    provider: FakeProvider, tmp_path: Path
) -> None:
    result = backfill(provider, tmp_path, "--budget", "5usd")
    assert (result.exit_code, len(result.messages), provider.requests) == (2, 1, [])
    assert '"openai-compatible/canned" = {' in result.stderr
    assert str(tmp_path / ".graphiti" / "prices.toml") in result.stderr
    assert not (tmp_path / ".turnetl").exists()


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
    write_prices(tmp_path, '"x/y" = { input = 1, output = 1 }\n' + PRICED.replace("0.40", "-1"))
    result = backfill(provider, tmp_path)
    assert (result.exit_code, len(result.messages), provider.requests) == (2, 1, [])
    assert "prices.toml`, line 2, `openai-compatible/canned`: -1.0 is not a price" in result.stderr


@pytest.mark.full
def test_the_usage_has_every_prompt_and_another_graph_takes_the_responses_from_the_journal(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_prices(tmp_path)
    first = backfill(provider, tmp_path, "--budget", "1000usd", "--json").json
    calls, usage = len(provider.requests), first["usage"]
    cost = pytest.approx(calls * (100 * 0.4 + 10 * 1.6) / 1e6)
    assert (usage["calls"], usage["repeated_responses"]) == (calls, 0)
    assert [usage[name] for name in ("cost", "expected_cost", "committed_cost")] == [cost] * 3
    by_prompt = usage["by_prompt"]
    assert sum(prompt["calls"] for prompt in by_prompt.values()) == calls
    assert "extract_nodes.extract_message" in by_prompt
    assert list(by_prompt) == sorted(by_prompt)
    again = backfill(provider, tmp_path, "--json", "--graph", f"ladybug://{tmp_path / 'b.lbug'}")
    assert again.json["committed"] == first["committed"]
    assert [(one["entities"], one["facts"]) for one in again.json["groups"]] == [
        (one["entities"], one["facts"]) for one in first["groups"]
    ]
    assert len(provider.requests) == again.json["usage"]["journal_hits"] == calls
    assert (again.json["usage"]["calls"], again.json["usage"]["cost"]) == (0, 0.0)
