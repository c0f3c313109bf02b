"""The summaries that the end of a run could not write, by reason: shown with the run alone."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import model_environment
from tests.cli.summarize_runs import BURSTS, write_long_session
from tests.conftest import GRAPHS
from tests.servers.canned_responses import Json
from tests.servers.provider import FakeProvider

TURNS = 17
"""The facts of one entity are too long to be its summary, which the last burst defers."""


@pytest.fixture(params=GRAPHS)
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "ladybug":
        return f"ladybug://{tmp_path / 'graph.lbug'}"
    return str(request.getfixturevalue("neo4j_url"))


class Shell:
    """Runs commands on a graph that a model fills."""

    def __init__(self, graph: str, provider: FakeProvider, folder: Path) -> None:
        self._graph = graph
        self._environment = model_environment(provider) | BURSTS
        self._folder = folder

    def run(self, *arguments: str | Path) -> CommandResult:
        return run_in_process(
            *arguments, "--graph", self._graph, folder=self._folder, **self._environment
        )

    def latest(self) -> dict[str, Any]:
        run: dict[str, Any] = self.run("runs", "--json").json["runs"][0]
        return run

    def check_shown(self, reason: str) -> None:
        """Check that the latest run shows one summary with the reason, and no turn counts it."""
        latest = self.latest()
        assert latest["summary_skipped"][reason] == 1
        shown = " ".join(self.run("runs", "show", latest["run_id"]).stdout.split())
        kept = sum(latest["summary_skipped"].values())
        assert f"{kept} kept (" in shown
        assert f"1 {reason}" in shown
        [group] = self.run("status", "--json").json["groups"]
        assert group["summary_skipped"].get("burst", 0) > 0
        assert reason not in group["summary_skipped"]


@pytest.fixture
def shell(graph: str, provider: FakeProvider, tmp_path: Path) -> Shell:
    write_long_session(tmp_path / "a.jsonl", TURNS)
    return Shell(graph, provider, tmp_path)


def no_summaries(_: str) -> Json:
    return {"entity_summaries": []}


@pytest.mark.full
def test_a_run_shows_how_many_summaries_its_end_got_no_text_for(
    shell: Shell, provider: FakeProvider
) -> None:
    provider.responders = {**provider.responders, "entity_summaries": no_summaries}
    done = shell.run("backfill", "a.jsonl", "--json")
    assert done.exit_code == 0, done.stderr
    assert done.json["groups"][0]["summary_skipped"]["flush_no_text"] == 1
    shell.check_shown("flush_no_text")


@pytest.mark.full
def test_a_run_shows_how_many_summaries_a_budget_kept_its_end_from_writing(shell: Shell) -> None:
    assert shell.run("backfill", "a.jsonl", "--no-flush").exit_code == 0
    assert shell.run("undo", shell.latest()["run_id"], "--yes").exit_code == 0
    # The journal has the responses of all turns; only the end of the run needs the budget.
    stopped = shell.run("backfill", "a.jsonl", "--budget", "1k tokens", "--json")
    assert (stopped.exit_code, stopped.json["committed"]) == (4, TURNS)
    assert stopped.json["groups"][0]["summary_skipped"]["flush_stopped"] == 1
    shell.check_shown("flush_stopped")
