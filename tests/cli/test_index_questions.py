"""`turnetl index --questions` as users type it."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.command import CommandResult, index_folder, run_in_process
from tests.cli.provider_setup import model_environment
from tests.servers.canned_responses import Json
from tests.servers.provider import FakeProvider
from tests.servers.summary_responses import RESPONDERS

QUESTION = "How do we handle walruses in Oslo?"


@pytest.fixture
def asked(provider: FakeProvider) -> FakeProvider:
    provider.responders = {**RESPONDERS, "questions": about_carts}
    return provider


def about_carts(prompt: str) -> Json:
    return {"questions": [QUESTION] if "Add a cart" in prompt else []}


def index(folder: Path, provider: FakeProvider, *arguments: str, **more: str) -> CommandResult:
    environment = model_environment(provider, EXTRACTOR="structural", **more)
    return run_in_process("index", *arguments, folder=folder, **environment)


@pytest.mark.full
def test_questions_are_written_once_and_find_their_turns_also_after_a_rebuild(
    shop: Path, asked: FakeProvider
) -> None:
    before = run_in_process("search", "walruses", "--json", folder=shop).json["hits"]
    first = index(shop, asked, "--questions", "--json")
    assert first.exit_code == 0
    assert len(asked.requests) == first.json["questions"]["usage"]["calls"] == 2
    assert (first.json["questions"]["turns"], first.json["questions"]["failed"]) == (2, 0)
    assert first.json["turns_with_questions"] == 2
    assert "for the questions of 2 turns: about " in first.messages[0]
    (hit,) = run_in_process("search", "walruses", "--json", folder=shop).json["hits"]
    assert (before, hit["prompt"]) == ([], "Add a cart to the shop")
    again = index(shop, asked, "--questions")
    assert again.messages == []
    assert "2 turns with questions, 0 of them new; 0 requests" in again.stdout
    # A rebuild keeps them.
    assert index(shop, asked, "--rebuild", "--json").json["turns_with_questions"] == 2
    assert run_in_process("search", "walruses", "--json", folder=shop).json["hits"] == [hit]
    # The journal has them.
    shutil.rmtree(index_folder(shop))
    again = index(shop, asked, "--questions", "--json")
    questions = again.json["questions"]
    assert (questions["turns"], questions["usage"]["calls"], len(asked.requests)) == (2, 0, 2)
    stats = run_in_process("journal", "stats", "--json", folder=shop).json
    assert "index.questions" in json.dumps(stats)


def files(folder: Path) -> list[Path]:
    """Return the files below a folder, without those that SQLite keeps beside an open one."""
    return [path for path in sorted(folder.rglob("*")) if not path.name.endswith(("-shm", "-wal"))]


@pytest.mark.full
def test_a_dry_run_states_turns_tokens_and_cost_and_writes_nothing(
    shop: Path, asked: FakeProvider
) -> None:
    (shop / ".graphiti").mkdir()
    prices = '"openai-compatible/canned" = { input = 1.0, output = 2.0 }\n'
    (shop / ".graphiti" / "prices.toml").write_text(prices)
    lake = shop / ".turnetl" / "lake"
    before = files(lake)
    estimate = index(shop, asked, "--questions", "--dry-run", "--json").json
    assert (estimate["model"], estimate["turns"]) == ("openai-compatible/canned", 2)
    tokens = estimate["prompt_tokens"] + 2 * estimate["completion_tokens"]
    assert estimate["cost"] == pytest.approx(tokens / 1_000_000, abs=1e-6)
    assert (asked.requests, files(lake)) == ([], before)
    index(shop, asked, "--questions")
    printed = index(shop, asked, "--questions", "--dry-run").stdout
    assert printed.startswith("0 turns without questions: 0 requests to openai-compatible/canned")


@pytest.mark.full
def test_a_response_that_is_not_valid_fails_the_command_and_is_asked_for_again_within_the_budget(
    shop: Path, provider: FakeProvider
) -> None:
    stopped = index(shop, provider, "--questions", "--budget", "10 tokens")
    assert (stopped.exit_code, provider.requests) == (4, [])
    provider.responders = {**RESPONDERS, "questions": lambda _: {"answers": []}}
    failed = index(shop, provider, "--questions", "--json")
    assert (failed.exit_code, failed.json["questions"]["failed"]) == (1, 2)
    provider.responders = {**RESPONDERS, "questions": about_carts}
    again = index(shop, provider, "--questions", "--json")
    assert (again.exit_code, again.json["questions"]["turns"]) == (0, 2)


def test_questions_need_a_model_and_their_options_need_them(shop: Path) -> None:
    result = run_in_process("index", "--questions", folder=shop)
    assert result.exit_code == 2
    message = "turnetl: `--questions` writes questions with a model, and"
    assert result.messages[0].startswith(message)
    for arguments in (("--dry-run",), ("--budget", "1usd")):
        result = run_in_process("index", *arguments, folder=shop)
        expected = f"turnetl: `{arguments[0]}` is an option of `--questions`: add it"
        assert result.messages == [expected]
