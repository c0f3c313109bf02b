"""What a subagent did is found where people look for it, with the line of its own archive."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.archives import row, tool_call, tool_result, write_archive
from tests.cli.command import run_in_process
from tests.cli.repository import Repository

START = datetime(2026, 3, 3, 9, tzinfo=UTC)
SESSION = "6beda5ed-5df4-42a1-99b8-0364221dca9b"
LINES = [f"price_{number} = compute(number={number}, of='the cart')" for number in range(60)]
CONTENT = "".join(f"{line}\n" for line in LINES)
FAILURE = "FAILED tests/test_cart.py::test_total - KeyError: 'price'"
PATH = "src/shop/cart.py"


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def sidechain(text: str) -> str:
    return json.dumps(json.loads(text) | {"isSidechain": True, "agentId": "a1"})


FAILED = json.loads(tool_result("r1", "c1", FAILURE, at(2)))
FAILED["message"]["content"][0]["is_error"] = True
SESSION_ROWS = [
    # Nothing but a subagent works for it: without that, it would be noise.
    row("user", "go on", "p1", at(0)),
    row("user", "Thanks, and now rest for today, please, it is late", "p2", at(30)),
    row("assistant", "Good night.", "a2", at(31)),
]
SUBAGENT_ROWS = [
    row("user", "Mend the cart of the shop.", "q1", at(1)),
    tool_call("c1", "Bash", at(1), command="pytest -q"),
    json.dumps(FAILED),
    tool_call("c2", "Write", at(3), file_path=PATH, content=CONTENT),
    tool_result("r2", "c2", "The file was written.", at(4)),
    row("assistant", "The cart is whole.", "q2", at(5)),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Return a repository whose file a subagent wrote; the lake is in its folder."""
    repository = Repository(tmp_path_factory.mktemp("subagents"), "shop")
    archives = repository.folder / "archives"
    named = [text.replace('"s1"', f'"{SESSION}"') for text in (*SESSION_ROWS, *SUBAGENT_ROWS)]
    own, of_subagent = named[: len(SESSION_ROWS)], named[len(SESSION_ROWS) :]
    write_archive(archives / f"{SESSION}.jsonl", own)
    side = archives / SESSION / "subagents/agent-a1"
    write_archive(side.with_suffix(".jsonl"), [*map(sidechain, of_subagent)])
    side.with_suffix(".meta.json").write_text('{"agentType": "Explore"}')
    result = run_in_process("backfill", "archives", folder=repository.folder)
    assert result.exit_code == 0, result.stderr
    repository.commit(CONTENT, at(20).isoformat())
    return repository


def found(shop: Repository, *arguments: str) -> Any:
    return run_in_process(*arguments, "--json", folder=shop.folder).json


def step(shop: Repository, line: int) -> dict[str, object]:
    archive = shop.folder / "archives" / SESSION / "subagents/agent-a1.jsonl"
    return {"type": "Explore", "archive": str(archive), "line": line}


def test_why_names_the_turn_of_a_line_far_down_in_an_edit_of_a_subagent(shop: Repository) -> None:
    [commit] = found(shop, "why", f"{PATH}:40")["commits"]
    assert (commit["certainty"], commit["not_read"]) == ("line", [])
    assert [turn["prompt"] for turn in commit["turns"]] == ["go on"]
    assert [fact["subagent_step"] for fact in commit["facts"]] == [step(shop, 4)]
    assert "(by subagent Explore)" in run_in_process("why", PATH, folder=shop.folder).stdout


def test_file_and_fix_lead_to_the_row_of_a_subagent(shop: Repository) -> None:
    [stated] = found(shop, "file", PATH)["turns"]
    [edit] = (fact for fact in stated["facts"] if fact["relation"] == "ADDED")
    [error] = found(shop, "fix", FAILURE)["errors"]
    failure = error["occurrences"][0]["fact"]
    assert edit["subagent_step"] == step(shop, 4)
    assert failure["subagent_step"] == step(shop, 2)
    raw = found(shop, "show", failure["fact_id"], "--raw")
    assert [json.loads(line)["uuid"] for line in raw["lines"]] == ["c1"]
    assert (raw["first_line"], raw["archive"]) == (2, step(shop, 2)["archive"])


def test_steps_of_a_subagent_are_shown_and_named_in_their_turn(shop: Repository) -> None:
    [turn] = found(shop, "search", "go on", "--tool", "Write", "-n", "1")["hits"]
    shown = found(shop, "show", turn["id"])
    assert [(one["tool"], one["subagent"]) for one in shown["steps"]] == [
        ("Bash", step(shop, 2)),
        ("Write", step(shop, 4)),
    ]
    place = f"agent-a1.jsonl:{step(shop, 4)['line']}"
    assert found(shop, "show", place) == shown
    raw = found(shop, "show", place, "--raw")
    assert [json.loads(line)["uuid"] for line in raw["lines"]] == ["c2"]
    stdout = run_in_process("show", turn["id"], folder=shop.folder).stdout
    assert "Bash pytest -q  by subagent Explore  failed\n" in stdout


@pytest.mark.parametrize("format_", ["jsonl", "parquet"])
def test_an_export_by_the_tool_of_a_subagent_holds_the_turn_and_its_steps(
    shop: Repository, tmp_path: Path, format_: str
) -> None:
    options = ("--format", format_, "--tool", "write", "--output", str(tmp_path / "export"))
    assert found(shop, "export", *options)["turns"] == 1
    if format_ == "parquet":
        run_in_process("import", str(tmp_path / "export"), "--lake", "other", folder=tmp_path)
        [group] = run_in_process("filter", "--lake", "other", "--json", folder=tmp_path).json[
            "groups"
        ]
        assert (group["turns"], group["unjoined_archives"]) == (1, 0)


@pytest.mark.full
def test_without_the_archive_of_the_subagent_an_excerpt_of_its_edit_is_compared(
    shop: Repository,
) -> None:
    archive = Path(str(step(shop, 4)["archive"]))
    text = archive.read_text()
    archive.unlink()
    try:
        far, near = (found(shop, "why", f"{PATH}:{line}")["commits"][0] for line in (40, 1))
    finally:
        archive.write_text(text)
    assert (far["certainty"], near["certainty"]) == ("unknown", "line")
    assert [one["reason"] for one in near["not_read"]] == ["missing"]


@pytest.mark.full
def test_a_turn_for_which_only_a_subagent_worked_is_no_noise_under_any_rules(
    shop: Repository,
) -> None:
    found(shop, "filter", "--disable-rule", "greeting")
    [group] = found(shop, "filter")["groups"]
    assert group["noise"] == {}


def test_a_run_says_that_the_session_of_a_subagent_is_not_here(
    shop: Repository, tmp_path: Path
) -> None:
    folder = shop.folder / "archives" / SESSION / "subagents"
    first = run_in_process("backfill", str(folder), folder=tmp_path)
    again = run_in_process("ingest", "--group", "shop", folder=tmp_path)
    for printed in (first.stdout, again.stdout):
        assert "(1 subagent archive whose session is not here)" in " ".join(printed.split())
    joined = run_in_process("backfill", str(folder.parents[1]), "--json", folder=tmp_path).json
    assert [one["unjoined_archives"] for one in joined["groups"]] == [0]


def test_a_subagent_whose_archive_comes_late_makes_its_turn_stale_and_the_run_says_what_to_do(
    tmp_path: Path,
) -> None:
    prompt = row("user", "Mend the cart of the shop, please.", "p1", at(0))
    rows = [prompt, row("assistant", "A subagent does it.", "a1", at(1)), *SESSION_ROWS[1:]]
    write_archive(tmp_path / "archives" / "s1.jsonl", rows)
    run_in_process("backfill", "archives", folder=tmp_path)
    write_archive(tmp_path / "archives" / "agent-a1.jsonl", [*map(sidechain, SUBAGENT_ROWS)])
    late = run_in_process("backfill", "archives", folder=tmp_path)
    assert "1 stale, not ingested again: 1 content changed" in " ".join(late.stdout.split())
    remedy = "`turnetl redo --stale --group shop`"
    assert remedy in " ".join(late.stderr.split())
    redone = run_in_process("redo", "--stale", "--group", "shop", "--yes", folder=tmp_path)
    assert redone.exit_code == 0, redone.stderr
    status = run_in_process("status", "--verbose", folder=tmp_path)
    assert remedy not in " ".join((status.stdout + status.stderr).split())
