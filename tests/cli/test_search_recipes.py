"""`turnetl search --recipe` as users type it."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import model_environment
from tests.servers.canned_responses import Json, between
from tests.servers.provider import FakeProvider
from tests.servers.summary_responses import RESPONDERS

FILE = "src/bookshop/checkout.py"
TEST = "test_total_of_two_books"
"""Facts lead from it to a file, and from that to what was changed in it."""
QUERY = "why were customers charged twice"


@pytest.fixture(scope="module")
def folder(filled_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the graph of the samples; only the journal is written."""
    return shutil.copytree(filled_samples, tmp_path_factory.mktemp("searched"), dirs_exist_ok=True)


def search(folder: Path, *arguments: str, **environment: str) -> CommandResult:
    return run_in_process("search", *arguments, folder=folder, **environment)


def test_results_of_every_kind_have_a_score_and_lead_to_file_and_line(folder: Path) -> None:
    arguments = ("--recipe", "combined-hybrid-search-rrf", "charged", "twice", "webhooks.py")
    result = search(folder, *arguments, "--json")
    assert result.exit_code == 0
    output = result.json
    assert output["recipe"] == "COMBINED_HYBRID_SEARCH_RRF"
    assert (output["center"], output["communities"]) == (None, [])
    turns = [
        *(found["turns"][0] for kind in ("facts", "entities") for found in output[kind]),
        *(found["turn"] for found in output["episodes"]),
    ]
    assert all(
        found["score"] > 0 for kind in ("facts", "entities", "episodes") for found in output[kind]
    )
    for turn in turns:
        lines = Path(turn["archive"]).read_text().splitlines()
        assert 1 <= turn["first_line"] <= turn["last_line"] <= len(lines)
    printed = search(folder, *arguments).stdout
    first = output["facts"][0]
    assert printed.startswith(f"Facts\n 1. {first['fact'][:40]}")
    assert f"score {first['score']:.4f}  bookshop" in printed
    assert "2026-03-24-payments.jsonl:3-24" in printed
    assert f"  {first['turns'][-1]['turn_id'][:8]}  " in printed
    assert "\nEntities\n" in printed
    assert "\nEpisodes\n" in printed
    assert "Communities" not in printed


def test_a_center_is_named_by_its_name_or_the_beginning_of_its_uuid(folder: Path) -> None:
    recipe = ("--recipe", "node-hybrid-search-node-distance", "--json", "checkout total")
    by_name = search(folder, *recipe, "--center", FILE).json
    assert by_name["center"]["name"] == FILE
    uuid = by_name["center"]["uuid"]
    assert search(folder, *recipe, "--center", uuid[:8]).json == by_name
    scores = [found["score"] for found in by_name["entities"]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] >= 1


@pytest.mark.full
def test_a_deeper_breadth_first_search_finds_more(folder: Path) -> None:
    found = [
        len(
            search(
                folder,
                *("--recipe", "node-hybrid-search-rrf", "--center", TEST, "--json", "-n", "500"),
                *("zzz", "--bfs", depth),
            ).json["entities"]
        )
        for depth in ("1", "3")
    ]
    assert 0 < found[0] < found[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--recipe", "rrf"), "turnetl: there is no search recipe `rrf`; recipes: COMBINED_HYBRID"),
        (
            ("--recipe", "edge-hybrid-search-node-distance"),
            "turnetl: EDGE_HYBRID_SEARCH_NODE_DISTANCE orders results by their distance",
        ),
        (
            ("--recipe", "edge-hybrid-search-node-distance", "--center", "checkuot.py"),
            "turnetl: no entity of the searched groups is named `checkuot.py`; similar are",
        ),
        (
            ("--recipe", "node-hybrid-search-cross-encoder"),
            "turnetl: NODE_HYBRID_SEARCH_CROSS_ENCODER orders results with a model, and none is",
        ),
        (("--recipe", "node-hybrid-search-rrf", "--bfs", "0"), "turnetl: `--bfs` must be at least"),
        (
            ("--recipe", "node-hybrid-search-rrf", "--nearest"),
            "turnetl: a recipe always prints its nearest results: omit `--nearest`",
        ),
        (
            ("--recipe", "node-hybrid-search-rrf", "--rerank"),
            "turnetl: a recipe orders its results itself: omit `--rerank`",
        ),
        (("--bfs", "2"), "turnetl: `--bfs` is an option of a recipe: name one with `--recipe`"),
        (("--center", FILE), "turnetl: `--center` is an option of a recipe: name one"),
    ],
)
def test_options_that_do_not_fit_are_reported_in_one_sentence(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = search(folder, QUERY, *arguments)
    assert result.exit_code == 2
    assert result.messages[0].startswith(message)
    assert result.stdout == ""
    as_json = search(folder, QUERY, *arguments, "--json")
    assert (as_json.exit_code, as_json.json["exit_code"]) == (2, 2)


@pytest.mark.full
def test_results_are_ordered_by_time_on_request(folder: Path) -> None:
    arguments = ("--recipe", "combined-hybrid-search-rrf", QUERY, "--json")
    by_score = search(folder, *arguments).json
    by_time = search(folder, *arguments, "--sort", "time").json
    for kind in ("facts", "entities"):
        dated = [found for found in by_time[kind] if found["turns"]]
        assert dated
        times = [found["turns"][-1]["started_at"] for found in dated]
        assert times == sorted(times, reverse=True)
        assert sorted(map(str, by_time[kind])) == sorted(map(str, by_score[kind]))
    times = [found["turn"]["started_at"] for found in by_time["episodes"]]
    assert times == sorted(times, reverse=True)
    assert by_time["facts"] != by_score["facts"]


def test_without_a_graph_the_message_says_where_it_was_looked_for(tmp_path: Path) -> None:
    result = search(
        tmp_path, "--recipe", "node-hybrid-search-node-distance", "--center", FILE, "x", "--json"
    )
    assert result.exit_code == 1
    assert "turnetl backfill" in result.json["error"]


def test_a_graph_without_communities_says_what_makes_them(folder: Path) -> None:
    result = search(folder, "--recipe", "community-hybrid-search-rrf", QUERY)
    assert result.exit_code == 0
    assert "the groups have no communities: run `turnetl communities build`" in result.stderr


@pytest.mark.full
def test_the_cross_encoder_is_the_configured_model_behind_the_journal(
    folder: Path, provider: FakeProvider
) -> None:
    provider.responders = {**RESPONDERS, "scores": rate_by_length}
    arguments = ("--recipe", "node-hybrid-search-cross-encoder", "checkout total")
    # With the structural extractor too, though a run then uses no model.
    environment = model_environment(provider, EXTRACTOR="structural")
    first = search(folder, *arguments, "--json", **environment)
    assert first.exit_code == 0
    sent = len(provider.requests)
    assert first.json["usage"]["calls"] == sent > 0
    names = [found["name"] for found in first.json["entities"]]
    assert names == sorted(names, key=lambda name: -len(name))
    assert f"turnetl: the model ranked the results: {sent} request" in first.messages[0]
    again = search(folder, *arguments, "--json", **environment)
    assert len(provider.requests) == sent
    assert again.json["entities"] == first.json["entities"]
    assert (again.json["usage"]["calls"], again.messages) == (0, [])
    stats = run_in_process("journal", "stats", "--json", folder=folder).json
    assert "search.rerank" in json.dumps(stats)


def test_the_cross_encoder_keeps_to_the_budget(folder: Path, provider: FakeProvider) -> None:
    provider.responders = {**RESPONDERS, "scores": rate_by_length}
    arguments = ("--recipe", "node-hybrid-search-cross-encoder", "another query for the cart")
    environment = model_environment(provider, BUDGET__TOKENS="10")
    result = search(folder, *arguments, **environment)
    assert (result.exit_code, provider.requests) == (4, [])


def rate_by_length(prompt: str) -> Json:
    """Score each passage by its length."""
    passages = json.loads(between(prompt, "PASSAGES"))
    return {
        "scores": [
            {"passage": passage["passage"], "score": min(len(passage["text"]), 100)}
            for passage in passages
        ]
    }
