"""`turnetl search --rerank` as users type it."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import model_environment
from tests.servers.canned_responses import Json, between
from tests.servers.provider import FakeProvider
from tests.servers.summary_responses import RESPONDERS

QUERY = "why were customers charged twice"


@pytest.fixture(scope="module")
def folder(filled_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the graph of the samples; only index and journal are written."""
    return shutil.copytree(filled_samples, tmp_path_factory.mktemp("searched"), dirs_exist_ok=True)


@pytest.fixture
def reranking(provider: FakeProvider) -> FakeProvider:
    provider.responders = {**RESPONDERS, "scores": rate_by_charge}
    return provider


def search(folder: Path, *arguments: str, **environment: str) -> CommandResult:
    return run_in_process("search", *arguments, folder=folder, **environment)


@pytest.mark.full
def test_the_model_orders_the_best_turns_and_a_repeated_search_costs_nothing(
    folder: Path, reranking: FakeProvider
) -> None:
    # With the structural extractor too, though a run then uses no model.
    environment = model_environment(reranking, EXTRACTOR="structural")
    plain = search(folder, QUERY, "--nearest", "-n", "30", "--json").json
    arguments = (QUERY, "--nearest", "--rerank", "-n", "30", "--json")
    first = search(folder, *arguments, **environment)
    assert first.exit_code == 0
    hits = first.json["hits"]
    relevance = [hit["relevance"] for hit in hits]
    assert relevance == sorted(relevance, reverse=True)
    assert {0.02, 0.91} <= set(relevance)
    scores = {hit["id"]: hit["score"] for hit in plain["hits"]}
    assert {hit["id"]: hit["score"] for hit in hits} == scores
    assert all(hit["relevance"] is None for hit in plain["hits"])
    assert plain["usage"]["calls"] == 0
    sent = len(reranking.requests)
    assert first.json["usage"]["calls"] == sent > 0
    assert f"turnetl: the model ranked the results: {sent} request" in first.messages[0]
    again = search(folder, *arguments, **environment)
    assert len(reranking.requests) == sent
    assert again.json["hits"] == hits
    assert (again.json["usage"]["calls"], again.messages) == (0, [])
    stats = run_in_process("journal", "stats", "--json", folder=folder).json
    assert "search.rerank" in json.dumps(stats)
    printed = search(folder, QUERY, "--rerank", "--nearest", "-v", "-n", "1", **environment).stdout
    assert "relevance 0.91" in printed
    assert "relevance" not in search(folder, QUERY).stdout


def test_a_query_that_nothing_is_close_to_sends_no_request(
    folder: Path, reranking: FakeProvider
) -> None:
    arguments = ("zebras grazing in the savannah", "--rerank", "--json")
    result = search(folder, *arguments, **model_environment(reranking))
    assert (result.json["hits"], reranking.requests) == ([], [])


def test_without_a_model_a_message_says_what_to_set(folder: Path) -> None:
    result = search(folder, QUERY, "--rerank")
    assert (result.exit_code, result.stdout) == (2, "")
    (message,) = result.messages
    assert message == (
        "turnetl: `--rerank` orders hits with a model, and none is configured: set "
        "TURNETL_LLM__PROVIDER, TURNETL_LLM__MODEL and TURNETL_LLM__API_KEY, or search without it"
    )


def test_a_recipe_is_not_ordered_twice(folder: Path) -> None:
    result = search(folder, QUERY, "--rerank", "--recipe", "node-hybrid-search-rrf")
    assert result.exit_code == 2
    assert result.messages[0].startswith("turnetl: a recipe orders its results itself: omit")


def test_it_keeps_to_the_budget(folder: Path, reranking: FakeProvider) -> None:
    environment = model_environment(reranking, BUDGET__TOKENS="10")
    result = search(folder, "another query for the cart", "--rerank", "--nearest", **environment)
    assert (result.exit_code, reranking.requests) == (4, [])


def rate_by_charge(prompt: str) -> Json:
    """Score turns about a charge high."""
    passages = json.loads(between(prompt, "PASSAGES"))
    scores = [91 if "charged" in passage["text"] else 2 for passage in passages]
    return {"scores": [{"passage": at, "score": score} for at, score in enumerate(scores)]}
