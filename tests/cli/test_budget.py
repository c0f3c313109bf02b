"""A run stops at its budget, and the next one pays for nothing twice."""

from pathlib import Path

import pytest

from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import model_environment, write_session
from tests.servers.provider import FakeProvider

TURNS = 8
PRICES = '"openai-compatible/canned" = { input = 1000, output = 1000 }\n'
"""A dollar per thousand tokens: a canned response of 110 tokens costs 11 cents."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_session(tmp_path / "a.jsonl", TURNS)
    (tmp_path / ".graphiti").mkdir()
    (tmp_path / ".graphiti" / "prices.toml").write_text(PRICES)
    return tmp_path


def backfill(folder: Path, provider: FakeProvider, *options: str) -> CommandResult:
    return run_in_process(
        "backfill", "a.jsonl", *options, "--json", folder=folder, **model_environment(provider)
    )


def next_request_tokens(result: CommandResult) -> int:
    """Return the size that the next request can have, from the message of the run."""
    (message,) = (text for text in result.messages if "budget" in text)
    return int(message.partition("up to ")[2].split()[0].replace(",", ""))


@pytest.mark.full
def test_a_run_stops_at_its_budget_and_the_same_command_continues(
    folder: Path, provider: FakeProvider, tmp_path_factory: pytest.TempPathFactory
) -> None:
    unlimited = tmp_path_factory.mktemp("unlimited")
    write_session(unlimited / "a.jsonl", TURNS)
    assert backfill(unlimited, provider).json["committed"] == TURNS
    needed, provider.requests = len(provider.requests), []
    runs = [backfill(folder, provider, "--budget", "1 token")]
    assert provider.requests == []
    while runs[-1].exit_code == 4:
        assert runs[-1].json["quarantined"] == 0
        runs.append(
            backfill(folder, provider, "--budget", f"{next_request_tokens(runs[-1]) + 800} tokens")
        )
    assert len(runs) > 2
    assert runs[-1].exit_code == 0
    assert sum(result.json["committed"] for result in runs) == TURNS
    assert len(provider.requests) == needed


@pytest.mark.full
def test_a_budget_in_dollars_is_kept_and_reported(folder: Path, provider: FakeProvider) -> None:
    stopped = backfill(folder, provider, "--budget", "2usd")
    assert stopped.exit_code == 4
    assert any("$" in text and "budget" in text for text in stopped.messages)
    assert stopped.json["usage"]["cost"] <= 2
    rest = backfill(folder, provider, "--budget", "1000usd").json
    assert (rest["pending"], rest["usage"]["calls"] > 0) == (0, True)
    assert rest["usage"]["cost"] == pytest.approx(0.11 * rest["usage"]["calls"])
    spent = run_in_process("status", "--json", folder=folder, **model_environment(provider)).json[
        "usage"
    ]
    assert spent["cost"] == pytest.approx(rest["usage"]["cost"] + stopped.json["usage"]["cost"])


@pytest.mark.full
def test_the_report_has_the_expected_cost_and_what_was_paid_for_committed_turns(
    folder: Path, provider: FakeProvider
) -> None:
    done = backfill(folder, provider, "--budget", "1000usd").json["usage"]
    assert done["expected_cost"] == pytest.approx(done["cost"])
    assert done["committed_cost"] == pytest.approx(done["cost"])
    assert done["repeated_responses"] == 0


@pytest.mark.full
def test_a_structural_run_expects_no_cost(folder: Path) -> None:
    done = run_in_process("backfill", "a.jsonl", "--json", folder=folder).json["usage"]
    assert (done["expected_cost"], done["expected_tokens"], done["committed_cost"]) == (None,) * 3


@pytest.mark.full
def test_the_budget_option_overrides_the_budget_of_the_settings(
    folder: Path, provider: FakeProvider
) -> None:
    settings = model_environment(provider, BUDGET__TOKENS="10")
    stopped = run_in_process("backfill", "a.jsonl", folder=folder, **settings)
    assert (stopped.exit_code, provider.requests) == (4, [])
    done = run_in_process("backfill", "a.jsonl", "--budget", "none", folder=folder, **settings)
    assert done.exit_code == 0


def test_a_budget_in_dollars_needs_a_price(folder: Path, provider: FakeProvider) -> None:
    (folder / ".graphiti" / "prices.toml").unlink()
    outcome = run_in_process(
        "backfill", "a.jsonl", "--budget", "5usd", folder=folder, **model_environment(provider)
    )
    assert (outcome.exit_code, len(outcome.messages), provider.requests) == (2, 1, [])
    assert '"openai-compatible/canned" = ' in outcome.stderr
    assert not (folder / ".turnetl").exists()


def test_an_invalid_price_file_is_named_with_its_line(folder: Path, provider: FakeProvider) -> None:
    (folder / ".graphiti" / "prices.toml").write_text(PRICES + '"x/y" = { input = "much" }\n')
    outcome = run_in_process("backfill", "a.jsonl", folder=folder, **model_environment(provider))
    assert (outcome.exit_code, len(outcome.messages), provider.requests) == (2, 1, [])
    assert "line 2" in outcome.stderr
