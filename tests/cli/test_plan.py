"""`turnetl plan`: what it predicts, what it pays, and what it says of a run afterwards."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import model_environment
from tests.estimation.varied_turns import write_turns
from tests.graph.statements import run_statement
from tests.servers.faults import Fault
from tests.servers.provider import FakeProvider, serving
from turnetl.base.model import GroupId
from turnetl.graph.open import open_graph

TURNS, PILOT = 30, 12
PRICED = '"openai-compatible/canned" = { input = 0.40, output = 1.60 }\n'
PRICED_TENFOLD = '"openai-compatible/canned" = { input = 4.0, output = 16.0 }\n'


def write_shop(folder: Path) -> Path:
    """Write the archives of two projects, and the prices of the model."""
    write_turns(folder / "a" / "shop.jsonl", TURNS)
    write_turns(folder / "a" / "barn.jsonl", 4, "barn")
    (folder / ".graphiti").mkdir()
    (folder / ".graphiti" / "prices.toml").write_text(PRICED)
    return folder


class ShopFolder:
    """Runs commands with the model in the folder of a test."""

    def __init__(self, folder: Path, provider: FakeProvider, graph: str | None = None) -> None:
        self.folder = folder
        self.provider = provider
        self.environment = model_environment(provider)
        if graph is not None:
            self.environment["TURNETL_GRAPH"] = graph

    def run(self, *arguments: str, **more: str) -> CommandResult:
        environment = {**self.environment, **more}
        return run_in_process(*arguments, folder=self.folder, **environment)

    def json(self, *arguments: str, **more: str) -> dict[str, Any]:
        result = self.run(*arguments, "--json", **more)
        assert result.exit_code == 0, result.stderr
        return result.json

    def sent(self) -> int:
        """Return the number of requests since the last call."""
        count = len(self.provider.requests)
        self.provider.requests.clear()
        return count


@dataclass(frozen=True)
class Done:
    """A folder in which a command ran once, which is only copied; what it printed and sent."""

    folder: Path
    output: dict[str, Any]
    requests: int
    status: list[tuple[Any, ...]]


def done_once(folder: Path, *arguments: str) -> Done:
    with serving() as provider:
        provider.counts_text = True
        shop = ShopFolder(write_shop(folder), provider)
        output = shop.json(*arguments)
        return Done(folder, output, shop.sent(), status(shop))


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return done_once(tmp_path_factory.mktemp("pilot"), "plan", "a", "--pilot", str(PILOT))


@pytest.fixture(scope="module")
def backfill(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return done_once(tmp_path_factory.mktemp("backfill"), "backfill", "a")


@pytest.fixture
def here(tmp_path: Path, provider: FakeProvider) -> ShopFolder:
    """A folder with the archives, and a model whose usage is that of the text."""
    provider.counts_text = True
    return ShopFolder(write_shop(tmp_path), provider)


@pytest.fixture
def on_each(here: ShopFolder, provider: FakeProvider, graph_url: str) -> ShopFolder:
    """The same with a graph of either kind."""
    return ShopFolder(here.folder, provider, graph_url)


@pytest.fixture
def after_pilot(pilot: Done, here: ShopFolder) -> ShopFolder:
    shutil.copytree(pilot.folder, here.folder, dirs_exist_ok=True)
    return here


@pytest.fixture
def after_backfill(backfill: Done, here: ShopFolder) -> ShopFolder:
    shutil.copytree(backfill.folder, here.folder, dirs_exist_ok=True)
    return here


@pytest.mark.full
def test_a_pilot_writes_nothing_is_not_paid_twice_and_stands_beside_the_run(
    on_each: ShopFolder, backfill: Done
) -> None:
    planned = on_each.json("plan", "a", "--pilot", str(PILOT))
    in_pilot = on_each.sent()
    assert groups_of(on_each.environment["TURNETL_GRAPH"]) == []
    assert 0 < in_pilot < backfill.requests
    assert planned["pilot"]["turns"] == PILOT
    tables = [on_each.run("backfill", "a", COLUMNS="80").stdout]
    assert in_pilot + on_each.sent() == backfill.requests
    assert status(on_each) == backfill.status
    run = on_each.json("runs")["runs"][0]
    shown = on_each.json("runs", "show", run["run_id"])
    estimate, usage = shown["estimate"], shown["usage"]
    assert (estimate["method"], estimate["turns"]) == ("pilot", planned["turns"])
    assert estimate["requests"] == planned["total"]["requests"]
    assert estimate["cost"] == planned["total"]["cost"]
    assert is_within(estimate["requests"], usage["calls"])
    assert is_within(estimate["tokens"], usage["prompt_tokens"] + usage["completion_tokens"])
    assert is_within(estimate["cost"], usage["cost"])
    tables.append(on_each.run("runs", "show", run["run_id"], COLUMNS="80").stdout)
    for text in tables:
        table = text.partition("estimate and actual")[2]
        assert f"{usage['calls']:,}" in table
        assert max(map(len, table.splitlines())) <= 80


def groups_of(graph: str) -> list[GroupId]:
    async def read() -> list[GroupId]:
        store = await open_graph(graph, user="", password="", write=False)
        found = list(await store.groups())
        await store.close()
        return found

    return asyncio.run(read())


def status(shop: ShopFolder) -> list[tuple[Any, ...]]:
    groups = shop.json("status")["groups"]
    return [(one["group"], one["turns"], one["entities"], one["facts"]) for one in groups]


@pytest.mark.full
def test_the_same_pilot_again_pays_nothing_predicts_the_same_and_leaves_no_table_behind(
    pilot: Done, after_pilot: ShopFolder
) -> None:
    first, here = pilot.output, after_pilot
    assert first["pilot"]["usage"]["calls"] == pilot.requests
    again = here.json("plan", "a", "--pilot", str(PILOT))
    assert again["pilot"]["usage"]["calls"] == here.sent() == 0
    assert again["method"] == "pilot"
    for name in ("requests", "tokens", "cost"):
        expected = first["total"][name]["expected"]
        assert again["total"][name]["expected"] == pytest.approx(expected, rel=0.1)
        assert is_within(again["total"][name], expected)
    shown = here.run("plan", "a", "--pilot", str(PILOT), COLUMNS="80").stdout
    assert max(map(len, shown.splitlines())) <= 80
    lake = here.folder / ".turnetl" / "lake"
    assert sorted(path.name for path in lake.iterdir() if "journal" not in path.name) == [
        "estimates",
        "redaction.key",
    ]
    assert {path.suffix for path in (lake / "estimates").iterdir()} == {".json"}


@pytest.mark.full
def test_runs_of_one_group_after_the_other_have_their_parts_of_the_estimate(
    after_pilot: ShopFolder,
) -> None:
    here = after_pilot
    here.json("parse", "a")
    here.json("filter")
    planned = here.json("plan", "--pilot", str(PILOT))
    of_group = {one["group"]: one for one in planned["groups"]}
    assert len(of_group) == 2
    requests = 0.0
    for name, group in of_group.items():
        estimate = here.json("ingest", "--group", name)["estimate"]
        assert (estimate["method"], estimate["turns"]) == ("pilot", group["turns"])
        requests += estimate["requests"]["expected"]
    assert requests == pytest.approx(planned["total"]["requests"]["expected"])


def is_within(amount: dict[str, float], actual: float) -> bool:
    return amount["low"] <= actual <= amount["high"]


@pytest.mark.full
def test_without_pilot_and_history_the_amounts_are_lower_bounds_and_no_request_is_sent(
    here: ShopFolder, backfill: Done
) -> None:
    result = here.run("plan", "a", COLUMNS="80")
    assert (result.exit_code, here.sent()) == (0, 0)
    assert "at least 68" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "add --pilot 20 for an estimate" in result.stderr
    planned = here.json("plan", "a")
    assert planned["method"] == "bounds"
    assert planned["total"]["requests"] == {"low": 68, "expected": 68, "high": None}
    assert all(group["chunks"] == group["turns"] > 0 for group in planned["groups"])
    assert backfill.output["usage"]["calls"] > 68
    assert here.json("backfill", "a", "--limit", "3")["estimate"] is None, "other turns"


def test_what_a_killed_plan_has_left_is_removed_by_the_next_one(here: ShopFolder) -> None:
    estimates = here.folder / ".turnetl" / "lake" / "estimates"
    (estimates / ".spill.0a.rows" / "lake" / "turns").mkdir(parents=True)
    (estimates / ".spill.0a.tmp").touch()
    here.json("plan", "a")
    assert {path.suffix for path in estimates.iterdir()} == {".json"}


@pytest.mark.full
def test_a_graph_of_another_version_is_an_error_before_anything_is_paid(
    on_each: ShopFolder,
) -> None:
    on_each.json("backfill", "a", "--limit", "2")
    on_each.sent()
    graph = on_each.environment["TURNETL_GRAPH"]
    asyncio.run(run_statement(graph, "MATCH (g:TurnGroup) SET g.schema_version = 3"))
    result = on_each.run("plan", "a", "--pilot", str(PILOT))
    assert (result.exit_code, on_each.sent()) == (1, 0)
    assert "was written by another version of turnetl" in result.stderr


@pytest.mark.full
def test_turns_that_the_lake_has_already_are_part_of_a_plan_of_archives(here: ShopFolder) -> None:
    here.run("parse", "a/barn.jsonl")
    here.run("filter")
    assert here.json("plan")["turns"] == 4
    assert here.json("plan", "a/shop.jsonl")["turns"] == TURNS
    assert here.json("plan", "a")["turns"] == TURNS + 4
    assert here.json("status")["pending"] == 4


@pytest.mark.full
def test_earlier_turns_of_the_model_are_the_estimate_without_a_pilot(on_each: ShopFolder) -> None:
    on_each.json("backfill", "a", "--limit", "15")
    on_each.sent()
    planned = on_each.json("plan")
    assert (planned["method"], planned["basis"], on_each.sent()) == ("history", 19, 0)
    assert planned["total"]["requests"]["high"] is not None
    assert on_each.json("plan", TURNETL_LLM__MODEL="other")["method"] == "bounds"
    shares = [one["tokens"]["expected"] for one in planned["by_prompt"].values()]
    assert sum(shares) == pytest.approx(planned["total"]["tokens"]["expected"], rel=0.01)
    assert planned["seconds"] is not None
    (on_each.folder / ".graphiti" / "prices.toml").write_text(PRICED_TENFOLD)
    dearer = on_each.json("plan")["total"]["cost"]["expected"]
    assert dearer == pytest.approx(10 * planned["total"]["cost"]["expected"], rel=0.01)
    usage = on_each.json("ingest")["usage"]
    assert is_within(planned["total"]["requests"], usage["calls"])


@pytest.mark.full
def test_a_journal_that_answers_everything_leaves_nothing_to_pay(
    backfill: Done, after_backfill: ShopFolder
) -> None:
    paid, here = backfill.output["usage"], after_backfill
    (here.folder / ".turnetl" / "lake" / "graph.lbug").unlink()
    planned = here.json("plan")
    assert planned["method"] == "journal"
    assert planned["answered_turns"] == planned["turns"] == TURNS + 4
    assert planned["total"]["cost"] == {"low": 0.0, "expected": 0.0, "high": 0.0}
    assert planned["answered"]["cost"] == pytest.approx(paid["cost"], rel=0.05)
    assert planned["answered_requests"] >= paid["calls"]
    assert here.json("ingest")["usage"]["calls"] == here.sent() == 0


@pytest.mark.full
def test_responses_that_a_stopped_run_has_prepared_are_not_part_of_the_estimate(
    here: ShopFolder,
) -> None:
    whole = here.json("plan", "a")["total"]["requests"]["low"]
    here.run("backfill", "a", "--budget", "52000 tokens")
    prepared = here.json("plan")
    left = prepared["turns"] * 2 - prepared["answered_requests"]
    assert prepared["answered_requests"] > 0
    assert left < whole


@pytest.mark.full
def test_without_a_model_nothing_is_sent_and_the_time_is_that_of_the_machine(
    here: ShopFolder,
) -> None:
    planned = here.json("plan", "a", "--extractor", "structural")
    assert (planned["method"], planned["model"], here.sent()) == ("no_model", None, 0)
    assert planned["total"]["requests"] == {"low": 0, "expected": 0, "high": 0}
    assert 0 < planned["seconds"]["low"] < planned["seconds"]["high"]
    assert [one["group"] for one in planned["groups"]] == ["barn", "shop"]
    here.json("backfill", "a", "--extractor", "structural")
    assert "nothing to ingest" in here.run("plan", "--extractor", "structural").stdout


@pytest.mark.full
def test_a_hybrid_extractor_is_estimated_with_its_model(here: ShopFolder) -> None:
    planned = here.json("plan", "a", "--extractor", "hybrid", "--pilot", str(PILOT))
    in_pilot = here.sent()
    usage = here.json("backfill", "a", "--extractor", "hybrid")["usage"]
    assert usage["calls"] == here.sent()
    assert in_pilot == planned["pilot"]["usage"]["calls"]
    assert is_within(planned["total"]["requests"], usage["calls"])


@pytest.mark.full
def test_a_pilot_that_is_larger_than_what_is_pending_leaves_nothing_to_pay(
    here: ShopFolder,
) -> None:
    result = here.run("plan", "a", "--pilot", "99", "--json")
    assert "the pilot has all 34 pending turns" in result.stderr
    assert result.json["total"]["requests"]["high"] == 0
    here.sent()
    assert here.json("backfill", "a")["usage"]["calls"] == here.sent() == 0


@pytest.mark.full
def test_a_budget_that_is_too_small_for_the_pilot_ends_it_and_the_rest_is_estimated(
    here: ShopFolder,
) -> None:
    result = here.run("plan", "a", "--pilot", "30", "--budget", "100k tokens", "--json")
    assert result.exit_code == 4
    assert "the pilot ended early: the budget is too small for another" in result.stderr
    planned = result.json
    assert (planned["method"], planned["basis"]) == ("pilot", planned["pilot"]["turns"])
    assert 0 < planned["pilot"]["turns"] < 30
    usage = planned["pilot"]["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] <= 100_000
    in_pilot = here.sent()
    assert in_pilot == usage["calls"]
    tiny = here.run("plan", "a", "--pilot", "30", "--budget", "1k tokens", "--json")
    assert (tiny.exit_code, here.sent()) == (4, 0)


@pytest.mark.full
def test_a_model_that_refuses_all_requests_is_an_error_of_the_plan(here: ShopFolder) -> None:
    here.provider.faults = [Fault(401, '{"error": {"message": "no"}}')] * 200
    result = here.run("plan", "a", "--pilot", str(PILOT))
    assert result.exit_code == 1
    assert "TURNETL_LLM__API_KEY" in result.stderr or "key" in result.stderr
    here.provider.faults = []
    assert here.run("plan", "a", "--pilot", "8").exit_code == 0


@pytest.mark.full
def test_turns_for_which_the_model_gives_no_valid_response_are_counted(here: ShopFolder) -> None:
    whole = here.provider.responders
    extract = whole["extracted_entities"]
    here.provider.responders = {
        **whole,
        "extracted_entities": lambda prompt: {} if "barn3_" in prompt else extract(prompt),
    }
    planned = here.json("plan", "a", "--pilot", "34")
    assert (planned["pilot"]["turns"], planned["pilot"]["failed"]) == (TURNS + 4, 1)
    assert here.json("plan", "a", "--pilot", "34")["pilot"]["usage"]["calls"] > 0, "asked again"
    result = here.run("backfill", "a", "--json")
    assert (result.exit_code, result.json["quarantined"]) == (3, 1)


@pytest.mark.full
def test_without_a_price_tokens_are_estimated_and_a_sentence_says_where_it_belongs(
    after_pilot: ShopFolder,
) -> None:
    here = after_pilot
    prices = here.folder / ".graphiti" / "prices.toml"
    prices.unlink()
    result = here.run("plan", "a", "--pilot", str(PILOT), "--json")
    assert result.json["total"]["cost"] is None
    assert result.json["total"]["tokens"]["expected"] > 0
    assert f"to `{prices}`" in result.stderr
    assert "the price of model `openai-compatible/canned` is unknown" in result.stderr


def test_a_lake_without_turns_has_nothing_to_plan(here: ShopFolder) -> None:
    result = here.run("plan")
    assert (result.exit_code, result.stdout) == (
        0,
        "nothing to ingest: `turnetl ingest` would send no request\n",
    )
    assert here.run("plan", "missing").exit_code == 0


@pytest.mark.full
def test_a_redo_is_estimated_with_the_turns_that_it_repeats(after_backfill: ShopFolder) -> None:
    here = after_backfill
    changed = {"TURNETL_EXTRACTION__PREPROCESSING_PROMPT": "Look at the colours only."}
    planned = here.json("plan", "--redo", "--stale", "--pilot", str(PILOT), **changed)
    in_pilot = here.sent()
    assert (planned["work"], planned["turns"]) == ("redo", TURNS + 4)
    assert planned["pilot"]["usage"]["calls"] == in_pilot > 0
    done = here.json("redo", "--stale", "--yes", **changed)
    assert here.sent() == done["usage"]["calls"]
    assert done["estimate"]["requests"] == planned["total"]["requests"]
    assert is_within(planned["total"]["requests"], done["usage"]["calls"])
    nothing = here.run("plan", "--redo", "--stale", **changed)
    assert nothing.stdout == "no turn is selected: there is nothing to redo\n"


@pytest.mark.full
def test_turns_are_selected_as_for_an_ingest(here: ShopFolder) -> None:
    assert here.json("plan", "a", "--limit", "3")["turns"] == 6
    assert here.json("plan", "a", "--since", "2026-03-04")["turns"] == 6
    here.run("parse", "a")
    here.run("filter")
    assert here.json("plan", "--group", "barn")["turns"] == 4
    assert here.json("plan", "--until", "2026-03-03", "--group", "shop")["turns"] == 24


def test_arguments_that_do_not_fit_are_rejected(
    subtests: pytest.Subtests, here: ShopFolder
) -> None:
    for arguments, expected in (
        (("--stale",), "--stale, --session, --kind and --exact need --redo"),
        (("a", "--redo", "--stale"), "leave out the archives, or --redo"),
        (("--redo",), "say what to redo"),
        (("--redo", "--stale", "--limit", "3"), "a redo has no --limit"),
        (("--format", "claude"), "need the archives of a backfill"),
        (("a", "--pilot", "3"), "a pilot has at least 8 turns, not 3"),
        (("a", "--group", "x", "--group", "y"), "a backfill has one --group"),
    ):
        with subtests.test(arguments=arguments):
            result = here.run("plan", *arguments)
            assert (result.exit_code, here.sent()) == (2, 0)
            assert expected in " ".join(result.stderr.split())


def test_a_pilot_without_a_journal_is_rejected(here: ShopFolder) -> None:
    result = here.run("plan", "a", "--pilot", str(PILOT), TURNETL_JOURNAL="false")
    assert (result.exit_code, here.sent()) == (2, 0)
    assert "a pilot needs the journal" in result.stderr
