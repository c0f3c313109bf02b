"""What a model costs, and what a budget does, as a person sees them."""

import re
from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, CommandResult, run_in_process
from tests.servers.provider import KEY, FakeProvider

BOTH = (
    SAMPLES / "shoebox" / "2026-04-19-heic.jsonl",
    SAMPLES / "bookshop" / "2026-05-05-export.jsonl",
)
"""Two groups, five turns. No --limit: it counts anew in each run."""
PRICED = '"openai-compatible/canned" = { input = 0.40, cached_input = 0.10, output = 1.60 }\n'


def named(provider: FakeProvider) -> dict[str, str]:
    return {
        "TURNETL_LLM__PROVIDER": "openai-compatible",
        "TURNETL_LLM__BASE_URL": f"{provider.url}/v1",
        "TURNETL_LLM__MODEL": "canned",
        "TURNETL_LLM__API_KEY": KEY,
    }


def price(folder: Path, said: str = PRICED) -> None:
    (folder / ".graphiti").mkdir(exist_ok=True)
    (folder / ".graphiti" / "prices.toml").write_text(said)


def backfill(provider: FakeProvider, folder: Path, *more: str) -> CommandResult:
    folder.mkdir(exist_ok=True)
    return run_in_process("backfill", *BOTH, *more, folder=folder, **named(provider))


def test_a_budget_stops_with_four_and_the_same_command_goes_on_and_pays_nothing_twice(
    provider: FakeProvider, tmp_path: Path
) -> None:
    whole = backfill(provider, tmp_path / "whole", "--json").json
    calls = len(provider.requests)
    provider.requests.clear()
    codes, tokens = [4], 1_000
    while codes[-1] == 4:
        ran = backfill(provider, tmp_path / "budget", "--budget", f"{tokens} tokens", "--json")
        codes.append(ran.exit_code)
        assert ran.json["quarantined"] == 0
        if ran.exit_code == 4:
            (least,) = set(re.findall(r"may use up to ([\d,]+) tokens", ran.stderr))
            tokens = int(least.replace(",", "")) + 2_000
    assert (codes[-1], codes.count(4) > 2) == (0, True)
    assert len(provider.requests) == calls
    said = run_in_process("status", "--json", folder=tmp_path / "budget", **named(provider)).json
    assert said["committed"] == whole["committed"]
    assert said["usage"]["calls"] == calls


def test_a_budget_of_money_asks_for_a_price_first_and_no_call_is_made(
    provider: FakeProvider, tmp_path: Path
) -> None:
    ran = backfill(provider, tmp_path, "--budget", "$5")
    assert ran.exit_code == 2
    assert '"openai-compatible/canned" = {' in ran.stderr
    assert str(tmp_path / ".graphiti" / "prices.toml") in ran.stderr
    assert provider.requests == []
    price(tmp_path)
    assert backfill(provider, tmp_path, "--budget", "$5").exit_code == 0


def test_the_account_names_every_prompt_and_the_sum(provider: FakeProvider, tmp_path: Path) -> None:
    price(tmp_path)
    said = backfill(provider, tmp_path, "--json").json["usage"]
    assert said["calls"] == len(provider.requests)
    assert said["cost"] == pytest.approx(len(provider.requests) * (100 * 0.4 + 10 * 1.6) / 1e6)
    by_prompt = said["by_prompt"]
    assert sum(one["calls"] for one in by_prompt.values()) == said["calls"]
    assert "extract_nodes.extract_message" in by_prompt
    assert list(by_prompt) == sorted(by_prompt)


def test_without_a_price_the_cost_is_said_to_be_unknown(
    provider: FakeProvider, tmp_path: Path
) -> None:
    ran = backfill(provider, tmp_path)
    assert ran.exit_code == 0
    assert "cost: unknown" in ran.stdout
    assert "has no price" in ran.stderr
    said = run_in_process("status", "--json", folder=tmp_path, **named(provider)).json
    assert said["usage"]["cost"] is None
    assert said["usage"]["prompt_tokens"] > 0


@pytest.mark.parametrize("extractor", ["structural", "llm"])
def test_what_an_embedder_was_asked_stands_in_the_account_and_in_no_budget(
    provider: FakeProvider, tmp_path: Path, extractor: str
) -> None:
    price(tmp_path, PRICED + '"openai-compatible/e" = { input = 1000, output = 0 }\n')
    embedder = {
        "TURNETL_EMBEDDER__PROVIDER": "openai-compatible",
        "TURNETL_EMBEDDER__BASE_URL": f"{provider.url}/v1",
        "TURNETL_EMBEDDER__MODEL": "e",
    }
    more = ("--extractor", extractor, "--budget", "$0.30", "--json")
    ran = run_in_process("backfill", *BOTH, *more, folder=tmp_path, **named(provider), **embedder)
    assert ran.exit_code == 0
    asked = [one for one in provider.requests if one.path.endswith("/embeddings")]
    texts = sum(len(one.body["input"]) for one in asked)
    counted = ran.json["usage"]["by_prompt"]["embeddings"]
    assert counted["calls"] == len(asked) > 0
    assert counted["prompt_tokens"] == texts
    assert counted["cost"] == pytest.approx(texts / 1000)
    assert ran.json["usage"]["calls"] == len(provider.requests)


def test_a_price_file_that_makes_no_sense_is_named_with_its_line(
    provider: FakeProvider, tmp_path: Path
) -> None:
    price(tmp_path, PRICED.replace("0.40", "-1"))
    ran = backfill(provider, tmp_path)
    assert ran.exit_code == 2
    assert "prices.toml`, line 1, `openai-compatible/canned`: -1.0 is not a price" in ran.stderr
    assert provider.requests == []


def test_another_graph_takes_the_answers_out_of_the_journal(
    provider: FakeProvider, tmp_path: Path
) -> None:
    price(tmp_path)
    first = backfill(provider, tmp_path, "--json").json
    calls = len(provider.requests)
    again = backfill(provider, tmp_path, "--json", "--graph", f"ladybug://{tmp_path / 'b.lbug'}")
    assert again.json["committed"] == first["committed"]
    assert len(provider.requests) == calls
    assert (again.json["usage"]["calls"], again.json["usage"]["cost"]) == (0, 0.0)
    assert again.json["usage"]["journal_hits"] == calls
