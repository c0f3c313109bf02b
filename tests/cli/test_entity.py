"""`turnetl entity`: two entities become one, stay so, and become two again."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import SESSION_START, model_environment
from tests.servers.provider import FakeProvider
from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.base.progress import Progress, ProgressUpdate
from turnetl.settings import load_settings

_GROUP = "shop"
_LAKE = Path(".turnetl", "lake")
_LISTED = _LAKE / "merged_entities.json"


def _session(folder: Path, name: str, prompts: list[str], *, day: int = 1) -> None:
    """Write a session of Claude Code in the project `shop` with one turn for each prompt."""
    rows: list[dict[str, Any]] = []
    for number, prompt in enumerate(prompts):
        common = {
            "sessionId": name,
            "cwd": "/home/dev/shop",
            "version": "2.0.0",
            "isSidechain": False,
        }
        asked = {"role": "user", "content": prompt}
        said = {
            "role": "assistant",
            "id": f"{name}{number}",
            "model": "m",
            "content": [{"type": "text", "text": "It is noted."}],
        }
        for kind, message, second in (("user", asked, 0), ("assistant", said, 5)):
            uuid = f"{name}-{number}-{kind}"
            at = f"2026-03-0{number + day}T09:00:0{second}.000Z"
            rows.append(
                {
                    "type": kind,
                    "uuid": uuid,
                    "parentUuid": None,
                    "timestamp": at,
                    "message": message,
                    **common,
                }
            )
    text = "\n".join(map(json.dumps, rows))
    (folder / f"{name}.jsonl").write_text(text + "\n")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a folder whose graph knows `orderTotal` and `grandTotal`."""
    prompts = [
        "We decided to use `orderTotal` for every price, because it rounds down.",
        "We decided to show `grandTotal` instead of a sum, because it has the tax in it.",
    ]
    _session(tmp_path, "a", prompts)
    assert _run(tmp_path, "backfill", "a.jsonl", "--close-after", "0").exit_code == 0
    return tmp_path


def _run(folder: Path, *arguments: str) -> CommandResult:
    return run_in_process(*arguments, folder=folder)


def test_a_merge_holds_for_old_and_new_turns_until_it_is_split(shop: Path) -> None:
    before = _run(shop, "entity", "grandTotal", "--json").json["entity"]
    for _ in range(2):  # merging twice is safe
        assert _run(shop, "entity", "merge", "orderTotal", "grandTotal", "--yes").exit_code == 0
        found = _run(shop, "entity", "grandTotal", "--json").json["entity"]
        assert (found["name"], found["aliases"]) == ("orderTotal", ["grandTotal"])
    _session(shop, "b", ["What is `grandTotal` below the cart?"], day=5)
    assert _run(shop, "backfill", "b.jsonl", "--close-after", "0").exit_code == 0
    assert _run(shop, "redo", "--group", _GROUP, "--yes").exit_code == 0
    assert _run(shop, "entity", "grandTotal", "--json").json["entity"] == found
    assert _run(shop, "verify").exit_code == 0
    assert _run(shop, "entity", "split", "orderTotal", "grandTotal", "--yes").exit_code == 0
    assert _run(shop, "entity", "grandTotal", "--json").json["entity"] == before
    assert _run(shop, "entity", "orderTotal", "--json").json["entity"]["aliases"] == []


def test_a_dry_run_and_a_refused_merge_write_nothing(shop: Path) -> None:
    before = {path: path.read_bytes() for path in shop.rglob("*.json*") if path.is_file()}
    refused = {
        ("merge", "orderTotal", "grandTotal", "--dry-run"): (0, "repeats 1 turn"),
        ("merge", "orderTotal", "grandSum", "--yes"): (2, "there is no entity `grandSum`"),
        ("split", "orderTotal", "grandTotal", "--yes"): (2, "was not merged into `orderTotal`"),
    }
    for arguments, (code, said) in refused.items():
        result = _run(shop, "entity", *arguments)
        assert result.exit_code == code
        assert said in result.stdout + result.stderr
    assert not (shop / _LISTED).exists()
    assert before == {path: path.read_bytes() for path in before}


@pytest.mark.parametrize("is_split", [False, True])
def test_a_merge_of_names_that_were_forgotten_is_forgotten(shop: Path, *, is_split: bool) -> None:
    assert _run(shop, "entity", "merge", "orderTotal", "grandTotal", "--yes").exit_code == 0
    if is_split:
        assert _run(shop, "entity", "split", "orderTotal", "grandTotal", "--yes").exit_code == 0
    listed = shop / _LISTED
    assert "grandTotal" in listed.read_text()
    forgotten = _run(shop, "forget", "--match", "grandTotal", "--yes")
    assert forgotten.exit_code == 0, forgotten.stderr
    assert "grandTotal" not in listed.read_text()


@pytest.fixture
def zones(tmp_path: Path) -> Path:
    """Return a folder whose graph has two names of one thing."""
    prompts = [
        "We decided to use `time zone` for every price, because it rounds down.",
        "We decided to show `timezone` instead of a sum, because it has the tax in it.",
        "We decided to keep the health check, because the balancer needs it.",
        "We decided to show the healthcheck first, because it is asked for.",
    ]
    _session(tmp_path, "a", prompts)
    assert _run(tmp_path, "backfill", "a.jsonl", "--close-after", "0").exit_code == 0
    return tmp_path


def test_duplicates_that_are_certain_become_one_for_old_and_new_turns(zones: Path) -> None:
    tmp_path = zones
    listed = _run(tmp_path, "entity", "duplicates", "--group", _GROUP, "--json").json
    certain, uncertain = listed["duplicates"]
    assert (certain["form"], uncertain["form"], listed["redo"]) == (
        "spelling",
        "abbreviation",
        None,
    )
    assert uncertain["certainty"] < listed["certain_from"] <= certain["certainty"]
    lines = [one["first_turns"][0]["first_line"] for one in (certain["kept"], certain["merged"])]
    assert lines == [1, 3]
    assert "1 of them certain" in _run(tmp_path, "entity", "duplicates").stdout
    assert not (tmp_path / _LISTED).exists()
    merged = _run(tmp_path, "entity", "duplicates", "--yes", "--json").json
    assert [group["error"] for group in merged["redo"]["groups"]] == [None]
    assert (merged["merged"], merged["unmerged"]) == (1, [])
    [rest] = _run(tmp_path, "entity", "duplicates", "--yes", "--json").json["duplicates"]
    assert rest == uncertain
    _session(tmp_path, "b", ["What is `timezone` below the cart?"], day=7)
    assert _run(tmp_path, "backfill", "b.jsonl", "--close-after", "0").exit_code == 0
    found = _run(tmp_path, "entity", "timezone", "--json").json["entity"]
    assert (found["name"], found["aliases"]) == ("time zone", ["timezone"])
    assert _run(tmp_path, "entity", "split", "time zone", "timezone", "--yes").exit_code == 0
    again = _run(tmp_path, "entity", "duplicates", "--json").json["duplicates"]
    assert [pair["form"] for pair in again] == ["spelling", "abbreviation"]
    assert [pair["kept_apart"] for pair in again] == [True, False]


def test_what_a_person_split_stays_apart_until_a_person_merges_it(zones: Path) -> None:
    assert "1 entity is part of another now." in _run(zones, "entity", "duplicates", "--yes").stdout
    assert _run(zones, "entity", "split", "time zone", "timezone", "--yes").exit_code == 0
    left = _run(zones, "entity", "duplicates", "--yes")
    assert (left.exit_code, "but a person split them" in left.stdout) == (0, True)
    assert "0 of them certain" in left.stdout
    assert _run(zones, "entity", "timezone", "--json").json["entity"]["name"] == "timezone"
    assert _run(zones, "entity", "merge", "time zone", "timezone", "--yes").exit_code == 0
    assert _run(zones, "entity", "timezone", "--json").json["entity"]["name"] == "time zone"
    listed = json.loads((zones / _LISTED).read_text())
    assert (len(listed["merges"]), listed["kept_apart"]) == (1, [])


def test_duplicates_of_a_group_that_cannot_be_redone_are_not_said_to_be_one(zones: Path) -> None:
    tables = {*zones.glob(".turnetl/lake/turns/**/*.parquet")}
    _session(zones, "b", ["What is `timezone` below the cart?"], day=7)
    assert _run(zones, "backfill", "b.jsonl", "--close-after", "0").exit_code == 0
    [added] = {*zones.glob(".turnetl/lake/turns/**/*.parquet")} - tables
    added.unlink()
    refused = _run(zones, "entity", "duplicates", "--yes")
    assert refused.exit_code == 1
    assert "run `turnetl filter`" in refused.stderr
    assert f"not merged, or not completely: what is certain in `{_GROUP}`." in refused.stdout
    assert "0 entities are part of another now" in refused.stdout


@pytest.mark.parametrize("points", [1, pytest.param(None, marks=pytest.mark.full)])
def test_a_merge_of_duplicates_that_is_killed_is_continued_by_the_same_command(
    zones: Path, points: int | None
) -> None:
    """At the first point, the merge is listed and nothing is undone."""
    start = zones.rename(zones.with_name("start"))

    def copied(name: str) -> Path:
        return shutil.copytree(start, start.with_name(name))

    updates: list[ProgressUpdate] = []
    _merge_duplicates(undisturbed := copied("undisturbed"), updates.append)
    assert {update.stage for update in updates} == {"undo", "ingest"}
    expected = _graph(undisturbed)
    for number in range(len(updates))[:points]:
        countdown = iter(range(number, -1, -1))

        def killed(_: ProgressUpdate, countdown: Iterator[int] = countdown) -> None:
            if next(countdown) == 0:
                raise KeyboardInterrupt

        folder = copied(f"killed {number}")
        with pytest.raises(KeyboardInterrupt):
            _merge_duplicates(folder, killed)
        assert _run(folder, "entity", "duplicates", "--yes").exit_code == 0
        # Turns that were undone already are pending.
        assert _run(folder, "ingest", "--close-after", "0").exit_code == 0
        assert _graph(folder) == expected, f"killed at {updates[number]}"


def test_a_split_that_is_killed_is_continued_by_the_same_command(zones: Path) -> None:
    before = _graph(zones)
    assert _run(zones, "entity", "duplicates", "--yes").exit_code == 0
    listed = zones / _LISTED
    merges = json.loads(listed.read_text())["merges"]
    # As the kill leaves it before the first turn is undone.
    listed.write_text(json.dumps({"merges": [], "kept_apart": merges}))
    assert _run(zones, "entity", "split", "time zone", "timezone", "--yes").exit_code == 0
    after = _graph(zones)
    assert [pair.pop("kept_apart") for pair in after["duplicates"]] == [True, False]
    assert [pair.pop("kept_apart") for pair in before["duplicates"]] == [False, False]
    assert after == before
    again = _run(zones, "entity", "split", "time zone", "timezone", "--yes")
    assert (again.exit_code, "was not merged into" in again.stderr) == (2, True)


def _merge_duplicates(folder: Path, progress: Progress) -> None:
    lake = folder / _LAKE
    settings = load_settings(None, lake=lake, graph=f"ladybug://{lake / 'graph.lbug'}")
    found = asyncio.run(pipeline.duplicate_entities(settings))
    options = pipeline.RunOptions()
    asyncio.run(pipeline.merge_duplicates(settings, found, options, now, progress=progress))


def _graph(folder: Path) -> dict[str, Any]:
    """Return what the command says about the names, of a graph that is whole."""
    assert _run(folder, "verify").exit_code == 0
    found = {
        name: _run(folder, "entity", name, "--json").json["entity"]
        for name in ("time zone", "timezone", "healthcheck")
    }
    return found | {"duplicates": _run(folder, "entity", "duplicates", "--json").json["duplicates"]}


@pytest.mark.full
def test_duplicates_of_a_model_stay_one_when_their_turns_are_redone_and_cost_no_request_again(
    tmp_path: Path, provider: FakeProvider
) -> None:
    texts = ["`part-job` uses `sqlite`.", "`other` uses `sqlite`.", "`part_jobs` uses `sqlite`."]
    rows = [
        row
        for hour, text in enumerate(texts)
        for row in conversation(text, session=f"s{hour}", at=SESSION_START + timedelta(hours=hour))
    ]
    write_archive(tmp_path / "a.jsonl", rows)

    def run(*arguments: str) -> CommandResult:
        return run_in_process(*arguments, folder=tmp_path, **model_environment(provider))

    assert run("backfill", "a.jsonl", "--close-after", "0").exit_code == 0
    [pair] = run("entity", "duplicates", "--json").json["duplicates"]
    assert (pair["form"], pair["shared_facts"]) == ("plural", ["part_jobs uses sqlite"])
    assert run("entity", "duplicates", "--yes").exit_code == 0
    sent = len(provider.requests)
    assert run("redo", "--group", _GROUP, "--yes").exit_code == 0
    assert len(provider.requests) == sent
    assert run("entity", "duplicates", "--json").json["duplicates"] == []
    assert run("entity", "part-job", "--json").json["entity"]["name"] == "part_jobs"
