"""`turnetl redo`: what it says before it starts, what it sends, and what it refuses."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import ROOT, CommandResult, clean_environment, run_in_process
from tests.cli.provider_setup import model_environment, write_session
from tests.servers.provider import FakeProvider, serving
from turnetl.episodes.filters import KINDS

TURNS = 3
CHANGED = {"EXTRACTION__PREPROCESSING_PROMPT": "Look at the colours only."}


@pytest.fixture(scope="module")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a graph that a model filled; it is only copied."""
    folder = tmp_path_factory.mktemp("filled")
    write_session(folder / "a.jsonl", TURNS)
    with serving() as provider:
        done = run_in_process("backfill", "a.jsonl", folder=folder, **model_environment(provider))
    assert done.exit_code == 0
    return folder


@pytest.fixture
def filled(filled_once: Path, tmp_path: Path) -> Path:
    """Return a folder with a graph that a model filled."""
    return shutil.copytree(filled_once, tmp_path, dirs_exist_ok=True)


def redo(folder: Path, provider: FakeProvider, *arguments: str) -> CommandResult:
    """Run the command with other instructions than those of the first run."""
    environment = model_environment(provider, **CHANGED)
    return run_in_process("redo", *arguments, folder=folder, **environment)


def status(folder: Path, provider: FakeProvider) -> Mapping[str, Any]:
    environment = model_environment(provider, **CHANGED)
    result = run_in_process("status", "--json", folder=folder, **environment).json
    groups: list[Mapping[str, Any]] = result["groups"]
    return groups[0]


def stale(folder: Path, provider: FakeProvider) -> int:
    return int(status(folder, provider)["stale"])


@pytest.mark.full
def test_before_a_redo_starts_it_says_why_how_many_turns_and_how_many_requests(
    filled: Path, provider: FakeProvider
) -> None:
    sent = len(provider.requests)
    shown = redo(filled, provider, "--stale", "--dry-run")
    assert shown.exit_code == 0
    text = " ".join(shown.stdout.split())
    [part] = status(filled, provider)["stale_parts"]
    assert f"{part['part']} {part['name']}: {part['old'][:8]} -> {part['new'][:8]}" in text
    assert "3 turns: recipe changed" in text
    assert "this redo repeats 3 turns; 6 requests to extract them, about" in text
    assert "when they were ingested, all their requests were" in text
    counted = redo(filled, provider, "--stale", "--dry-run", "--json").json
    assert (counted["turns"], counted["extraction"]["requests"]) == (TURNS, 2 * TURNS)
    assert counted["groups"][0]["stale_parts"] == [part]
    assert counted["used"]["calls"] > 0
    assert (len(provider.requests), stale(filled, provider)) == (sent, TURNS)


@pytest.mark.full
def test_a_redo_sends_every_request_once_and_the_journal_answers_the_old_recipe(
    filled: Path, provider: FakeProvider
) -> None:
    sent = len(provider.requests)
    done = redo(filled, provider, "--stale", "--yes", "--json")
    assert done.exit_code == 0
    assert (done.json["undone"], done.json["committed"]) == (TURNS, TURNS)
    assert done.json["usage"]["calls"] == len(provider.requests) - sent > 0
    assert done.json["usage"]["journal_hits"] >= done.json["usage"]["calls"]
    assert stale(filled, provider) == 0
    again = redo(filled, provider, "--stale", "--yes")
    assert (again.exit_code, again.stdout) == (0, "nothing is stale: there is nothing to redo\n")
    found = run_in_process("search", "sqlite", folder=filled)
    assert "part0.py" in found.stdout
    assert run_in_process("verify", folder=filled).exit_code == 0
    sent = len(provider.requests)
    back = ("redo", "--stale", "--yes", "--json")
    done = run_in_process(*back, folder=filled, **model_environment(provider))
    assert (done.json["committed"], done.json["usage"]["calls"]) == (TURNS, 0)
    assert done.json["extraction"] == {"requests": 0, "tokens": 0, "answered": 2 * TURNS}
    assert len(provider.requests) == sent


@pytest.mark.full
def test_turns_are_selected_by_session_turn_kind_and_time(
    filled: Path, provider: FakeProvider
) -> None:
    everything = redo(filled, provider, "--stale", "--dry-run", "--json").json
    first, second, last = everything["groups"][0]["turns"]
    selections = {
        ("--turn", second["id"]): [second],
        ("--session", "s1-2"): [last],
        ("--since", second["started_at"]): [second, last],
        ("--since", second["started_at"], "--until", last["started_at"]): [second],
        ("--group", everything["groups"][0]["group"]): [first, second, last],
    }
    for arguments, expected in selections.items():
        [group] = redo(filled, provider, *arguments, "--dry-run", "--json").json["groups"]
        assert group["turns"] == expected
        assert group["later"] == everything["groups"][0]["turns"][3 - len(group["later"]) :]
    of_kinds = [redo(filled, provider, "--kind", kind, "--dry-run", "--json") for kind in KINDS]
    selected = [result.json["groups"][0]["turns"] for result in of_kinds if not result.exit_code]
    assert sum(map(len, selected)) == TURNS
    nothing = redo(filled, provider, "--turn", first["id"], "--session", "s1-2", "--dry-run")
    assert (nothing.exit_code, "meets all of these conditions" in nothing.stderr) == (2, True)


@pytest.mark.full
def test_a_budget_that_does_not_suffice_leaves_the_graph_as_it_was_and_pays_for_no_request_twice(
    filled: Path, provider: FakeProvider
) -> None:
    sent = len(provider.requests)
    stopped = redo(filled, provider, "--stale", "--yes", "--budget", "1k tokens")
    assert stopped.exit_code == 4
    assert "was undone, and the same command continues" in stopped.stderr
    assert stale(filled, provider) == TURNS
    paid = len(provider.requests) - sent
    done = redo(filled, provider, "--stale", "--yes", "--json")
    assert (done.json["committed"], stale(filled, provider)) == (TURNS, 0)
    alone = redo_alone(filled, provider)
    assert done.json["usage"]["calls"] + paid == alone


def redo_alone(folder: Path, provider: FakeProvider) -> int:
    """Redo the turns with instructions that the journal does not know; return the requests."""
    environment = model_environment(
        provider, EXTRACTION__PREPROCESSING_PROMPT="Look at the numbers only."
    )
    done = run_in_process("redo", "--stale", "--yes", "--json", folder=folder, **environment)
    calls = done.json["usage"]["calls"]
    assert isinstance(calls, int)
    return calls


def test_a_selection_that_means_nothing_is_refused(
    subtests: pytest.Subtests, filled_once: Path, provider: FakeProvider
) -> None:
    for arguments, message in (
        ((), "say what to redo: --stale, --group,"),
        (("--group", "nothing"), "there is no group `nothing`"),
        (("--session", "nothing"), "the graph holds no session `nothing`"),
        (("--turn", "nothing"), "the graph holds no turn `nothing`"),
        (("--kind", "nothing"), "there is no kind `nothing` of turns; kinds: error_heavy,"),
        (("--stale", "--dry-run", "--yes"), "has nothing to confirm"),
    ):
        with subtests.test(arguments=arguments):
            result = redo(filled_once, provider, *arguments)
            assert result.exit_code == 2
            assert message in result.messages[0]


def test_without_a_journal_or_yes_a_redo_with_a_model_is_refused(
    filled: Path, provider: FakeProvider
) -> None:
    environment = model_environment(provider, **CHANGED, JOURNAL="false")
    result = run_in_process("redo", "--stale", "--yes", folder=filled, **environment)
    assert (result.exit_code, "a redo with a model needs the journal" in result.stderr) == (2, True)
    unconfirmed = redo(filled, provider, "--stale")
    assert unconfirmed.exit_code == 1
    assert unconfirmed.messages == [
        "turnetl: nothing was redone: confirm it on a terminal, or add --yes"
    ]
    assert stale(filled, provider) == TURNS


@pytest.mark.full
def test_an_extractor_that_is_not_named_is_not_changed(filled: Path) -> None:
    result = run_in_process("redo", "--group", "shop", "--yes", folder=filled)
    assert result.exit_code == 1
    assert "name the one that you mean" in result.stderr
    named = ("redo", "--stale", "--extractor", "structural", "--yes", "--json")
    done = run_in_process(*named, folder=filled)
    assert (done.json["committed"], done.json["usage"]["calls"]) == (TURNS, 0)


def test_a_group_whose_turns_changed_since_the_filter_is_not_redone(
    filled: Path, provider: FakeProvider
) -> None:
    write_session(filled / "a.jsonl", TURNS + 1)
    assert run_in_process("parse", "a.jsonl", folder=filled).exit_code == 0
    result = redo(filled, provider, "--stale", "--yes")
    assert (result.exit_code, "run `turnetl filter`" in result.stderr) == (1, True)


def test_of_a_group_that_was_undone_nothing_is_left_to_redo_and_an_ingest_is_next(
    filled: Path, provider: FakeProvider
) -> None:
    assert run_in_process("undo", "--group", "shop", "--yes", folder=filled).exit_code == 0
    for selection in (("--group", "shop"), ("--since", "1d")):
        for more in ("--yes", "--dry-run"):
            result = redo(filled, provider, *selection, more)
            assert result.exit_code == 2
            assert result.messages[0] == (
                "turnetl: nothing is left to redo: the graph holds no turn of the selected groups, "
                "and 3 turns are pending, new or undone: `turnetl ingest` ingests them"
            )
    shown = redo(filled, provider, "--stale", "--dry-run")
    assert shown.exit_code == 0
    assert " ".join(shown.stdout.split()) == (
        "nothing is stale: there is nothing to redo; 3 turns ready for `turnetl ingest`"
    )


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize(("stage", "turns"), [("extract", 2), ("undo", 2), ("ingest", 1)])
def test_a_redo_that_is_killed_is_completed_by_the_same_command_and_an_ingest(
    filled: Path, provider: FakeProvider, stage: str, turns: int, tmp_path: Path
) -> None:
    environment = model_environment(provider, **CHANGED)
    command = [sys.executable, "-m", "tests.cli.redo_program", stage, str(turns)]
    killed = subprocess.run(
        command,
        cwd=tmp_path,
        env=clean_environment(tmp_path) | environment | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert killed.returncode < 0
    sent = len(provider.requests)
    again = redo(filled, provider, "--stale", "--yes")
    assert again.exit_code == 0
    if (stage, turns) == ("undo", 2):
        pending = "2 other turns are pending, new or undone by an interrupted redo: run"
        assert pending in again.stderr
    completed = run_in_process("ingest", folder=filled, **environment)
    assert completed.exit_code == 0
    group = status(filled, provider)
    assert (group["committed"], group["pending"], group["stale"]) == (TURNS, 0, 0)
    assert stage == "extract" or len(provider.requests) == sent
    assert run_in_process("verify", folder=filled).exit_code == 0
