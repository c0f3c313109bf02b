"""`turnetl migrate plan` says what `migrate run` will take."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.builders import START
from tests.cli.command import SAMPLES, CommandResult, run_in_process
from tests.cli.provider_setup import model_environment
from tests.estimation.varied_turns import write_turns
from tests.legacy.graphs import write_foreign_data, write_legacy_graph
from tests.legacy.sessions import legacy_sessions
from tests.legacy.styles import LegacyEpisode, LegacyStyle, legacy_episode
from tests.servers.provider import FakeProvider

GROUP, TURNS, PILOT = "old-summaries", 30, 12
PRICED = '"openai-compatible/canned" = { input = 0.40, output = 1.60 }\n'


class LegacyFolder:
    """Runs commands in a folder with an archive and a graph with its summaries."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment
        self.graph = f"ladybug://{folder / 'graph.lbug'}"
        write_turns(folder / "a" / "shop.jsonl", TURNS)
        (folder / ".graphiti").mkdir()
        (folder / ".graphiti" / "prices.toml").write_text(PRICED)
        asyncio.run(self._fill())

    async def _fill(self) -> None:
        """Write a summary of each session, with its id, and foreign data."""
        summaries = [
            LegacyEpisode(f"old{number}", f"session id: shop-{number}", "Ok.", "text", "", START)
            for number in range(TURNS)
        ]
        await write_legacy_graph(self.graph, summaries, GROUP)
        await write_foreign_data(self.graph, GROUP)

    def run(self, command: str, *arguments: str) -> CommandResult:
        return run_in_process(
            *("migrate", command, "a", "--graph", self.graph),
            *arguments,
            folder=self.folder,
            **self.environment,
        )

    def json(self, command: str, *arguments: str) -> dict[str, Any]:
        result = self.run(command, *arguments, "--json")
        assert result.exit_code == 0, result.stderr
        return result.json


@pytest.fixture
def here(tmp_path: Path, provider: FakeProvider) -> LegacyFolder:
    provider.counts_text = True
    return LegacyFolder(tmp_path, model_environment(provider))


@pytest.mark.full
def test_without_a_model_the_plan_names_turns_time_and_disk(graph_url: str, tmp_path: Path) -> None:
    episodes = [legacy_episode(one, LegacyStyle.NAME) for one in legacy_sessions(Path(SAMPLES))]
    asyncio.run(write_legacy_graph(graph_url, episodes, GROUP))
    arguments = ("migrate", "plan", str(SAMPLES), "--graph", graph_url)
    result = run_in_process(*arguments, "--json", folder=tmp_path)
    assert result.exit_code == 0, result.stderr
    estimate = result.json["estimate"]
    assert (estimate["method"], estimate["model"]) == ("no_model", None)
    assert estimate["turns"] == result.json["groups"][0]["turns"] > len(episodes)
    assert estimate["seconds"]["expected"] > 0
    assert estimate["disk"]["index"]["expected"] > 0
    run = run_in_process(
        "migrate", "run", str(SAMPLES), "--graph", graph_url, "--json", folder=tmp_path
    )
    assert run.json["ingest"]["committed"] == estimate["turns"]
    after = run_in_process(*arguments, "--json", folder=tmp_path)
    assert after.json["estimate"] is None
    table = run_in_process(*arguments, folder=tmp_path)
    assert "migrate run" not in table.stdout


@pytest.mark.full
def test_with_a_model_a_plan_sends_nothing_and_states_lower_bounds(
    here: LegacyFolder, provider: FakeProvider
) -> None:
    estimate = here.json("plan")["estimate"]
    assert provider.requests == []
    assert estimate["method"] == "bounds"
    assert estimate["total"]["requests"]["low"] >= TURNS
    assert estimate["total"]["requests"]["high"] is None
    assert estimate["total"]["cost"]["low"] > 0
    result = here.run("plan")
    assert "turns for `turnetl migrate run`" in " ".join(result.stdout.split())
    assert "all amounts are lower bounds" in " ".join(result.messages)


@pytest.mark.full
def test_a_pilot_is_not_paid_twice_and_the_run_lies_within_its_range(
    here: LegacyFolder, provider: FakeProvider
) -> None:
    estimate = here.json("plan", "--pilot", str(PILOT))["estimate"]
    in_pilot = len(provider.requests)
    assert estimate["pilot"]["usage"]["calls"] == in_pilot > 0
    assert estimate["groups"][0]["group"] == GROUP
    provider.requests.clear()
    run = here.json("run")["ingest"]
    assert run["usage"]["journal_hits"] >= in_pilot
    requests = estimate["total"]["requests"]
    assert requests["low"] <= len(provider.requests) <= requests["high"]
    assert run["estimate"]["requests"] == requests
    assert (run["estimate"]["method"], run["estimate"]["turns"]) == ("pilot", TURNS)
    assert run["groups"][0]["committed"] == TURNS


@pytest.mark.full
def test_a_budget_ends_the_pilot_with_its_own_exit_code(here: LegacyFolder) -> None:
    result = here.run("plan", "--pilot", str(PILOT), "--budget", "6k tokens", "--json")
    assert result.exit_code == 4, result.stderr
    assert result.json["estimate"]["pilot"]["stopped"]


@pytest.mark.full
def test_preprocessing_and_extractor_of_the_run_count(here: LegacyFolder) -> None:
    plain = here.json("plan", "--preprocessing", "none")["estimate"]["total"]
    longer = here.json("plan", "--preprocessing", "Look closely. " * 200)["estimate"]["total"]
    assert longer["prompt_tokens"]["low"] > plain["prompt_tokens"]["low"]
    assert here.json("plan", "--extractor", "structural")["estimate"]["method"] == "no_model"
