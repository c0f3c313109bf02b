"""`turnetl summarize` with a model: what it asks, what it costs, and edited summaries."""

import asyncio
from pathlib import Path

import pytest

from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import model_environment
from tests.cli.summarize_runs import UNFLUSHED, contents, embedded, summaries, write_long_session
from tests.graph.statements import run_statement
from tests.servers.provider import FakeProvider, ReceivedRequest

pytestmark = pytest.mark.full


@pytest.fixture
def model_group(provider: FakeProvider, tmp_path: Path) -> dict[str, str]:
    """Return the environment of a graph that a model filled, with a summary that needs a request.

    One entity has facts of more than 2,000 characters, and its summary is deferred.
    """
    environment = model_environment(provider) | UNFLUSHED
    write_long_session(tmp_path / "a.jsonl", 17)
    assert run_in_process("backfill", "a.jsonl", folder=tmp_path, **environment).exit_code == 0
    provider.requests.clear()
    return environment


def test_a_model_writes_deferred_summaries_within_a_budget_and_a_dry_run_says_what_it_costs(
    model_group: dict[str, str], provider: FakeProvider, tmp_path: Path
) -> None:
    def run(*arguments: str) -> CommandResult:
        return run_in_process("summarize", *arguments, "--json", folder=tmp_path, **model_group)

    preview = run("--dry-run")
    assert (preview.exit_code, preview.json["usage"]["calls"], provider.requests) == (0, 1, [])
    assert preview.json["usage"]["prompt_tokens"] > 500
    assert preview.json["model"] == "openai-compatible/canned"
    refused = run("--budget", "1k tokens")
    assert refused.exit_code == 4
    assert "budget" in refused.json["groups"][0]["error"]
    assert provider.requests == []
    done = run("--budget", "100k tokens")
    [group] = done.json["groups"]
    assert (done.exit_code, group["written"]) == (0, group["to_write"])
    assert group["written"] > 0
    assert done.json["usage"]["calls"] == len(provider.requests) == 1
    assert any("asking `openai-compatible/canned` for summaries" in line for line in done.messages)
    texts = summaries(contents(embedded(tmp_path))).values()
    assert any(text.startswith("sqlite (") for text in texts)
    assert run().json["groups"][0]["to_write"] == 0


def test_an_audit_with_a_model_asks_it_unless_it_is_a_dry_run(
    model_group: dict[str, str], provider: FakeProvider, tmp_path: Path
) -> None:
    before = contents(embedded(tmp_path))
    arguments = ("summarize", "--audit", "50", "--json")
    preview = run_in_process(*arguments, "--dry-run", folder=tmp_path, **model_group)
    assert (preview.exit_code, provider.requests) == (0, [])
    assert preview.json["groups"][0]["audit"] is None
    done = run_in_process(*arguments, folder=tmp_path, **model_group)
    assert (done.exit_code, done.json["dry_run"]) == (0, True)
    assert done.json["groups"][0]["audit"] is not None
    assert contents(embedded(tmp_path)) == before


def test_a_group_that_another_extractor_filled_is_refused_unless_one_is_named(
    model_group: dict[str, str], tmp_path: Path
) -> None:
    assert model_group
    result = run_in_process("summarize", "--json", folder=tmp_path, **UNFLUSHED)
    assert result.exit_code == 1
    assert "--extractor llm" in result.json["groups"][0]["error"]
    named = run_in_process(
        "summarize", "--extractor", "structural", "--json", folder=tmp_path, **UNFLUSHED
    )
    assert (named.exit_code, named.json["model"]) == (0, None)
    assert named.json["groups"][0]["written"] > 0


FULL = 13
"""Turns whose facts about one entity just fit a summary without a request."""


def test_an_edited_summary_is_kept_until_the_model_is_told_to_write_it_again(
    graph_url: str, provider: FakeProvider, tmp_path: Path
) -> None:
    environment = model_environment(provider) | {"TURNETL_SUMMARIES__MIN_SIMILARITY": "1"}

    def run(*arguments: str | Path) -> CommandResult:
        return run_in_process(
            *arguments, "--graph", graph_url, "--json", folder=tmp_path, **environment
        )

    def summary() -> str:
        [group] = contents(graph_url)
        [found] = [one.summary for one in group.entities if one.name == "sqlite"]
        return found

    def asked() -> list[ReceivedRequest]:
        return provider.requests_for("entity_summaries")

    assert run("backfill", write_long_session(tmp_path / "a.jsonl", FULL)).exit_code == 0
    before = summary()
    assert len(before.splitlines()) == FULL
    edit = "MATCH (n:Entity {name: 'sqlite'}) SET n.summary = 'by hand'"
    asyncio.run(run_statement(graph_url, edit))
    more = run("backfill", write_long_session(tmp_path / "b.jsonl", 2, first=FULL))
    assert more.json["groups"][0]["summary_skipped"]["edited"] == 2
    kept = run("summarize").json["groups"][0]
    assert (kept["edited"], kept["edited_entities"], kept["written"]) == (1, ["sqlite"], 0)
    preview = run("summarize", "--edited", "--dry-run").json
    assert (preview["usage"]["calls"], preview["groups"][0]["to_write"]) == (1, 1)
    assert (summary(), asked()) == ("by hand", [])
    done = run("summarize", "--edited").json
    assert (done["usage"]["calls"], done["groups"][0]["written"]) == (1, 1)
    [request] = asked()
    prompt = request.messages[-1][1]
    assert "by hand" not in prompt
    assert f"part{FULL + 1} " in prompt
    assert summary().startswith("sqlite (")
    again = run("summarize", "--edited").json
    assert (again["usage"]["calls"], again["groups"][0]["to_write"], len(asked())) == (0, 0, 1)
    [group] = contents(graph_url)
    for turn in [*group.summaries][: FULL - 1 : -1]:
        undone = run("undo", "--turn", turn, "--yes", "--group", group.group_id)
        assert undone.exit_code == 0, undone.stderr
    assert summary() == before
